using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>What one operation needs.</summary>
/// <param name="Permission">The right; null = none but to be admitted.</param>
/// <param name="Resource">To what kind of thing.</param>
/// <param name="Name">Its name, from the request; null = its handler decides, thing by thing.</param>
/// <param name="IsAudited">Whether it is written down when it is done: it changes what is administered.</param>
internal sealed record OperationRow(
    Permission? Permission, ResourceKind Resource, Func<object, string>? Name, bool IsAudited)
{
    /// <summary>For everybody who is admitted.</summary>
    public static readonly OperationRow Open = new(null, ResourceKind.Broker, null, false);

    /// <summary>What an operation on the broker is about, for the audit log; null = the broker itself.</summary>
    private Func<object, string>? Subject { get; init; }

    /// <summary>Decided by its handler.</summary>
    public static OperationRow Within(Permission permission, ResourceKind resource) =>
        new(permission, resource, null, false);

    /// <summary>Changes the one thing that it names.</summary>
    public static OperationRow Of<TRequest>(
        Permission permission, ResourceKind resource, Func<TRequest, string> name) =>
        new(permission, resource, request => name((TRequest)request), true);

    /// <summary>Looks at the one thing that it names.</summary>
    public static OperationRow Look<TRequest>(
        Permission permission, ResourceKind resource, Func<TRequest, string> name) =>
        new(permission, resource, request => name((TRequest)request), false);

    /// <summary>Looks at something of the broker's.</summary>
    public static OperationRow OfBroker(Permission permission) =>
        new(permission, ResourceKind.Broker, static _ => "", false);

    /// <summary>Changes something of the broker's.</summary>
    /// <param name="subject">What it changes, as "user:alice".</param>
    public static OperationRow Administer<TRequest>(Func<TRequest, string> subject) =>
        new(EQueue.Protocol.Permission.Administer, ResourceKind.Broker, static _ => "", true)
        {
            Subject = request => subject((TRequest)request),
        };

    /// <summary>What a request is about, as "topic:orders"; "" = the broker, or several things.</summary>
    public string ResourceOf(object request)
    {
        if (Subject is not null)
            return Subject(request);
        return Resource == ResourceKind.Broker || Name is null ? "" : AccessRule.TextOf(Resource, Name(request));
    }

    /// <summary>Throws unless the peer may. Nothing is looked at where the handler decides.</summary>
    /// <param name="access">Of the peer.</param>
    /// <param name="operation">The row's.</param>
    /// <param name="request">What the peer asks for.</param>
    /// <param name="subject">What it is about, as it is written down.</param>
    /// <exception cref="EQueueException">NotAuthorized.</exception>
    public void Check(PeerAccess access, Opcode operation, object request, string subject)
    {
        if (Permission is { } permission && Name is { } name)
            access.Check(operation, permission, Resource, name(request), subject);
    }
}
