using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>What each operation needs: the one table that the dispatcher asks before a handler runs.</summary>
/// <remarks>Produce, Fetch, CommitOffsets and GroupHeartbeat are decided where their queues are known
/// (<see cref="PeerAccess"/>); lists show what may be described.</remarks>
internal static class OperationTable
{
    private static readonly Dictionary<Opcode, OperationRow> Rows = new()
    {
        [Opcode.Hello] = OperationRow.Open,
        [Opcode.CheckHistory] = OperationRow.Open,
        [Opcode.InitProducer] = OperationRow.Open,
        [Opcode.Produce] = OperationRow.Within(Permission.Write, ResourceKind.Topic),
        [Opcode.Fetch] = OperationRow.Within(Permission.Read, ResourceKind.Topic),
        [Opcode.GroupHeartbeat] = OperationRow.Within(Permission.Read, ResourceKind.Group),
        [Opcode.CommitOffsets] = OperationRow.Within(Permission.Read, ResourceKind.Group),
        [Opcode.Route] = OperationRow.Within(Permission.Describe, ResourceKind.Topic),
        [Opcode.FindOffsets] = OperationRow.Within(Permission.Describe, ResourceKind.Topic),
        [Opcode.FindByKey] = OperationRow.Within(Permission.Read, ResourceKind.Topic),
        [Opcode.ListTopics] = OperationRow.Within(Permission.Describe, ResourceKind.Topic),
        [Opcode.ListGroups] = OperationRow.Within(Permission.Describe, ResourceKind.Group),
        [Opcode.TestRule] = OperationRow.Within(Permission.Administer, ResourceKind.Broker),
        [Opcode.CreateTopic] = OperationRow.Of<CreateTopicRequest>(
            Permission.Create, ResourceKind.Topic, static x => x.Topic),
        [Opcode.AlterTopic] = OperationRow.Of<AlterTopicRequest>(
            Permission.Alter, ResourceKind.Topic, static x => x.Topic),
        [Opcode.AlterQueues] = OperationRow.Of<AlterQueuesRequest>(
            Permission.Alter, ResourceKind.Topic, static x => x.Topic),
        [Opcode.DeleteTopic] = OperationRow.Of<DeleteTopicRequest>(
            Permission.Delete, ResourceKind.Topic, static x => x.Topic),
        [Opcode.DescribeTopic] = OperationRow.Look<DescribeTopicRequest>(
            Permission.Describe, ResourceKind.Topic, static x => x.Topic),
        [Opcode.GroupLeave] = OperationRow.Look<GroupLeaveRequest>(
            Permission.Read, ResourceKind.Group, static x => x.Group),
        [Opcode.ReadOffsets] = OperationRow.Look<ReadOffsetsRequest>(
            Permission.Describe, ResourceKind.Group, static x => GroupTable.Split(x.Group).Group),
        [Opcode.DescribeGroup] = OperationRow.Look<DescribeGroupRequest>(
            Permission.Describe, ResourceKind.Group, static x => x.Group),
        [Opcode.ResetOffsets] = OperationRow.Of<ResetOffsetsRequest>(
            Permission.Alter, ResourceKind.Group, static x => GroupTable.Split(x.Group).Group),
        [Opcode.DeleteGroup] = OperationRow.Of<DeleteGroupRequest>(
            Permission.Delete, ResourceKind.Group, static x => x.Group),
        [Opcode.Stats] = OperationRow.OfBroker(Permission.Describe),
        [Opcode.ListQuotas] = OperationRow.OfBroker(Permission.Describe),
        [Opcode.SetQuota] = OperationRow.OfBroker(Permission.Administer, isAudited: true),
        [Opcode.SetUser] = OperationRow.OfBroker(Permission.Administer, isAudited: true),
        [Opcode.DeleteUser] = OperationRow.OfBroker(Permission.Administer, isAudited: true),
        [Opcode.ListUsers] = OperationRow.OfBroker(Permission.Administer),
        [Opcode.CreateToken] = OperationRow.OfBroker(Permission.Administer, isAudited: true),
        [Opcode.RevokeToken] = OperationRow.OfBroker(Permission.Administer, isAudited: true),
        [Opcode.ListTokens] = OperationRow.OfBroker(Permission.Administer),
        [Opcode.SetRule] = OperationRow.OfBroker(Permission.Administer, isAudited: true),
        [Opcode.ListRules] = OperationRow.OfBroker(Permission.Administer),
    };

    /// <summary>The row of an operation.</summary>
    /// <exception cref="KeyNotFoundException">There is none: it is not served.</exception>
    public static OperationRow Of(Opcode opcode) => Rows[opcode];

    /// <summary>Whether an operation has a row.</summary>
    public static bool Has(Opcode opcode) => Rows.ContainsKey(opcode);
}

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

    /// <summary>About the broker.</summary>
    public static OperationRow OfBroker(Permission permission, bool isAudited = false) =>
        new(permission, ResourceKind.Broker, static _ => "", isAudited);

    /// <summary>What a request is about, as "topic:orders"; "" = the broker, or several things.</summary>
    public string ResourceOf(object request) =>
        Resource == ResourceKind.Broker || Name is null ? "" : AccessRule.TextOf(Resource, Name(request));

    /// <summary>Throws unless the peer may. Nothing is looked at where the handler decides.</summary>
    /// <exception cref="EQueueException">NotAuthorized.</exception>
    public void Check(PeerAccess access, object request)
    {
        if (Permission is { } permission && Name is { } name)
            access.Check(permission, Resource, name(request));
    }
}
