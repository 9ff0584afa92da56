using System.Collections.Concurrent;

namespace EQueue.Broker;

/// <summary>A consumer group: its members and queues, and how far it has come.</summary>
/// <remarks>
/// <see cref="Gate"/> guards the roster and the order in which commits enter the log. Progress is readable without it
/// and changes when a commit is visible, never before.
/// </remarks>
internal sealed class Group(string name, GroupRoster roster) : IDeadline
{
    private readonly ConcurrentDictionary<ProgressKey, VisibleOffset> _offsets = new();

    public string Name { get; } = name;

    public Lock Gate { get; } = new();

    public GroupRoster Roster { get; } = roster;

    /// <summary>What the log says about its members; null = nothing.</summary>
    public GroupRecord? Recorded { get; set; }

    /// <summary>Set, under the gate, when the group was taken out of the table: look it up again.</summary>
    public bool IsGone { get; set; }

    /// <summary>The order number of the last commit that entered the log.</summary>
    public long LastCommit { get; set; }

    /// <summary>Members that the broker's count includes.</summary>
    public int CountedMembers { get; set; }

    /// <summary>Bytes of members that the memory of all includes.</summary>
    public long CountedBytes { get; set; }

    /// <summary>Moves that the broker's figure includes.</summary>
    public long CountedMoves { get; set; }

    /// <summary>Whether the last change left every queue where it shall be.</summary>
    public bool WasStable { get; set; } = true;

    /// <summary>When the wheel looks at it; null = it does not.</summary>
    public TimeSpan? ArmedFor { get; set; }

    /// <inheritdoc/>
    public DeadlinePlace Place { get; } = new();

    public bool HasProgress => !_offsets.IsEmpty;

    /// <summary>Queues with progress, each instance's for itself.</summary>
    public int ProgressCount => _offsets.Count;

    /// <summary>Whether nothing speaks for keeping the group; asked under the gate.</summary>
    public bool IsEmpty =>
        Roster.Members.Count == 0
        && !Roster.IsSettling
        && !Roster.HasPendingCommits
        && Recorded is null
        && _offsets.IsEmpty;

    /// <summary>The kind that its progress tells; null = it has none.</summary>
    public GroupKind? KindOfProgress => _offsets.IsEmpty
        ? null
        : _offsets.Keys.Any(key => key.Instance is null) ? GroupKind.Shared : GroupKind.Broadcast;

    /// <summary>Instances of a broadcast group that have progress.</summary>
    public IReadOnlySet<string> Instances =>
        _offsets.Keys.Where(key => key.Instance is not null).Select(key => key.Instance!).ToHashSet();

    /// <summary>Queues with progress: the group's own, or one instance's.</summary>
    public IEnumerable<QueueKey> CommittedQueues(string? instance) =>
        _offsets.Keys.Where(key => key.Instance == instance).Select(key => key.Queue);

    public GroupOffset? Find(string? instance, QueueKey queue) =>
        _offsets.TryGetValue(new ProgressKey(instance, queue), out VisibleOffset? visible) ? visible.Offset : null;

    /// <summary>Makes an offset visible, unless a later commit is.</summary>
    public void Publish(string? instance, QueueKey queue, GroupOffset offset, long commit) =>
        _offsets.AddOrUpdate(
            new ProgressKey(instance, queue),
            static (_, next) => next,
            static (_, shown, next) => shown.Commit > next.Commit ? shown : next,
            new VisibleOffset(offset, commit));

    /// <summary>Whose progress there is, and in which queues.</summary>
    public IEnumerable<ProgressKey> Progress => _offsets.Keys;

    public void Forget(ProgressKey key) => _offsets.TryRemove(key, out _);

    public void Forget(IReadOnlySet<QueueId> queues)
    {
        foreach (ProgressKey key in _offsets.Keys)
        {
            if (queues.Contains(key.Queue.Id))
                _offsets.TryRemove(key, out _);
        }
    }

    private sealed record VisibleOffset(GroupOffset Offset, long Commit);
}

/// <summary>Whose progress in which queue: the group's own, or one instance's.</summary>
internal readonly record struct ProgressKey(string? Instance, QueueKey Queue);
