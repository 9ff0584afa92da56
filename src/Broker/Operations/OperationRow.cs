using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Carries out an operation, from the frame of its request to its answer.</summary>
internal delegate ValueTask OperationHandler(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload);

/// <summary>How an operation counts for the quota of its client.</summary>
internal enum QuotaClass
{
    /// <summary>Not at all.</summary>
    None,

    /// <summary>As a request: the connection of a client in debt is not read for that time.</summary>
    Request,

    /// <summary>As a request and by its bytes; its handler charges, and holds the answer back.</summary>
    Produce,

    /// <summary>As a request and by the bytes given; its handler charges, and serves later.</summary>
    Fetch,
}

/// <summary>One operation: what it needs, and who carries it out. A row of the <see cref="OperationTable"/>.</summary>
/// <param name="Opcode">Which.</param>
/// <param name="Permission">The right; null = none but to be admitted.</param>
/// <param name="Resource">To what kind of thing.</param>
internal sealed record OperationRow(Opcode Opcode, Permission? Permission, ResourceKind Resource)
{
    /// <summary>The thing's name, from the request; null = its handler decides, thing by thing.</summary>
    public Func<object, string>? Name { get; init; }

    /// <summary>What an operation on the broker is about, for the audit log; null = the broker itself.</summary>
    public Func<object, string>? Subject { get; init; }

    /// <summary>Whether it is written down when it is done: it changes what is administered.</summary>
    public bool IsAudited { get; init; }

    /// <summary>How it counts for its client's quota.</summary>
    public QuotaClass Quota { get; init; } = QuotaClass.Request;

    /// <summary>Who carries it out; null = a broker by itself does not serve it.</summary>
    public OperationHandler? Handler { get; init; }

    /// <summary>What a request is about, as "topic:orders"; "" = the broker, or several things.</summary>
    public string ResourceOf(object request)
    {
        if (Subject is not null)
            return Subject(request);
        return Resource == ResourceKind.Broker || Name is null ? "" : AccessRule.TextOf(Resource, Name(request));
    }

    /// <summary>Throws unless the peer may. Nothing is looked at where the handler decides.</summary>
    /// <param name="access">Of the peer.</param>
    /// <param name="request">What the peer asks for.</param>
    /// <param name="subject">What it is about, as it is written down.</param>
    /// <exception cref="EQueueException">NotAuthorized.</exception>
    public void Check(PeerAccess access, object request, string subject)
    {
        if (Permission is { } permission && Name is { } name)
            access.Check(Opcode, permission, Resource, name(request), subject);
    }
}
