using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A consumer group: its one member, its generation and how far it has come.</summary>
/// <remarks>
/// <see cref="Gate"/> guards the member and the order in which commits enter the log. Progress is readable without it
/// and changes when a commit is visible, never before.
/// </remarks>
internal sealed class Group(string name)
{
    private readonly ConcurrentDictionary<FetchQueueKey, VisibleOffset> _offsets = new();
    private int _pendingCommits;

    public string Name { get; } = name;

    public Lock Gate { get; } = new();

    public GroupMember? Member { get; set; }

    public int Generation { get; set; }

    /// <summary>Set, under the gate, when the group was taken out of the table: look it up again.</summary>
    public bool IsGone { get; set; }

    /// <summary>The order number of the last commit that entered the log.</summary>
    public long LastCommit { get; set; }

    /// <summary>Whether nothing speaks for keeping the group; asked under the gate.</summary>
    public bool IsEmpty => Member is null && Volatile.Read(ref _pendingCommits) == 0 && _offsets.IsEmpty;

    public IEnumerable<FetchQueueKey> CommittedQueues => _offsets.Keys;

    public GroupOffset? Find(FetchQueueKey queue) =>
        _offsets.TryGetValue(queue, out VisibleOffset? visible) ? visible.Offset : null;

    /// <summary>Makes an offset visible, unless a later commit is.</summary>
    public void Publish(FetchQueueKey queue, GroupOffset offset, long commit) =>
        _offsets.AddOrUpdate(
            queue,
            static (_, next) => next,
            static (_, shown, next) => shown.Commit > next.Commit ? shown : next,
            new VisibleOffset(offset, commit));

    /// <summary>Counts a commit that enters the log; under the gate.</summary>
    public void BeginCommit() => Interlocked.Increment(ref _pendingCommits);

    public void EndCommit() => Interlocked.Decrement(ref _pendingCommits);

    public void Forget(FetchQueueKey queue) => _offsets.TryRemove(queue, out _);

    private sealed record VisibleOffset(GroupOffset Offset, long Commit);
}
