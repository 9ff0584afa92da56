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
        [Opcode.WatchLeader] = OperationRow.Open,
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
            Permission.Describe, ResourceKind.Group, static x => ProgressName.Split(x.Group).Group),
        [Opcode.DescribeGroup] = OperationRow.Look<DescribeGroupRequest>(
            Permission.Describe, ResourceKind.Group, static x => x.Group),
        [Opcode.ResetOffsets] = OperationRow.Of<ResetOffsetsRequest>(
            Permission.Alter, ResourceKind.Group, static x => ProgressName.Split(x.Group).Group),
        [Opcode.DeleteGroup] = OperationRow.Of<DeleteGroupRequest>(
            Permission.Delete, ResourceKind.Group, static x => x.Group),
        [Opcode.Stats] = OperationRow.OfBroker(Permission.Describe),
        [Opcode.ListQuotas] = OperationRow.OfBroker(Permission.Describe),
        [Opcode.SetQuota] = OperationRow.Administer<SetQuotaRequest>(
            static x => $"quota:{x.Quota.Kind.ToString().ToLowerInvariant()}:{x.Quota.Name}"),
        [Opcode.SetUser] = OperationRow.Administer<SetUserRequest>(static x => Principal.OfUser(x.Name)),
        [Opcode.DeleteUser] = OperationRow.Administer<DeleteUserRequest>(static x => Principal.OfUser(x.Name)),
        [Opcode.ListUsers] = OperationRow.OfBroker(Permission.Administer),
        [Opcode.CreateToken] = OperationRow.Administer<CreateTokenRequest>(static x => Principal.OfUser(x.User)),
        [Opcode.RevokeToken] = OperationRow.Administer<RevokeTokenRequest>(static x => AuditFacts.NameOfToken(x.Id)),
        [Opcode.ListTokens] = OperationRow.OfBroker(Permission.Administer),
        [Opcode.SetRule] = OperationRow.Administer<SetRuleRequest>(static x => $"rule:{x.Rule}"),
        [Opcode.ListRules] = OperationRow.OfBroker(Permission.Administer),
    };

    /// <summary>The row of an operation.</summary>
    /// <exception cref="KeyNotFoundException">There is none: it is not served.</exception>
    public static OperationRow Of(Opcode opcode) => Rows[opcode];

    /// <summary>Whether an operation has a row.</summary>
    public static bool Has(Opcode opcode) => Rows.ContainsKey(opcode);
}
