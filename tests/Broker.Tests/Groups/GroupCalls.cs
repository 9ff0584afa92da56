using EQueue.Protocol;

namespace EQueue.Broker.Tests.Groups;

/// <summary>The calls of a member of group "billing", over a connection of its choice.</summary>
internal sealed class GroupCalls(string? instance = null)
{
    public static readonly TimeSpan LongWait = TimeSpan.FromSeconds(10);

    private uint _sequence;

    public Guid Id { get; } = Guid.NewGuid();

    public GroupHeartbeatRequest Join(params string[] topics) => new()
    {
        Group = "billing",
        Member = Id,
        Sequence = ++_sequence,
        InstanceId = instance,
        Subscriptions = [.. topics.Select(topic => new TopicSubscription(topic, []))],
    };

    public GroupHeartbeatRequest Beat(GroupGeneration seen, IReadOnlyList<OwnedQueue>? owned = null) => new()
    {
        Group = "billing",
        Member = Id,
        Sequence = ++_sequence,
        InstanceId = instance,
        Generation = seen,
        Owned = owned,
    };

    public CommitOffsetsRequest Commit(OwnedQueue queue, long next) => new(
        "billing", Id, [new OffsetCommit(queue.Queue, queue.Grant, new QueueOffset(next), -1, null)]);

    public GroupLeaveRequest Leave(bool stays = false) => new("billing", Id, stays);

    public static async Task<long> ReadAsync(TestPeer peer, QueueId queue, string group = "billing") => Assert.Single(
        (await peer.InvokeAsync(new ReadOffsetsRequest(group, [new QueueKey(0, queue)]))).Offsets).Next.Value;
}
