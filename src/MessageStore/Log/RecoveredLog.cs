namespace EQueue.MessageStore;

/// <summary>What recovery hands to the log: everything before <see cref="EndPosition"/> is verified, rewritten where
/// needed, and durable.</summary>
/// <remarks>
/// Segments: in order of position, without gaps; the last is open (<see cref="Segment.File"/>, not sealed) and its
/// entries are in the active index (<see cref="Queue.AddEntry"/>); earlier ones are sealed and have their index file or
/// their runs in memory. Without any segment the log makes the first. The log itself writes the epoch start entry with
/// <see cref="LastEpoch"/> + 1.
/// </remarks>
internal sealed class RecoveredLog
{
    /// <summary>Random id of the data directory.</summary>
    public required Guid StoreId { get; init; }

    /// <summary>Random id of this log: the seed of every entry's CRC.</summary>
    public required Guid LogId { get; init; }

    /// <summary>The files.</summary>
    public required IReadOnlyList<Segment> Segments { get; init; }

    /// <summary>Queues with their ends; the state queue's too.</summary>
    public required QueueTable Queues { get; init; }

    /// <summary>Producers with their windows.</summary>
    public required ProducerTable Producers { get; init; }

    /// <summary>Where the next entry goes.</summary>
    public required long EndPosition { get; init; }

    /// <summary>What readers may see: all of it, or what a leader knows to be committed.</summary>
    public required long CommittedPosition { get; init; }

    /// <summary>The highest epoch in the log; 0 in an empty one.</summary>
    public required int LastEpoch { get; init; }

    /// <summary>The epochs in the log, as far as they are known.</summary>
    public required EpochList Epochs { get; init; }

    /// <summary>The highest stored time in the log; 0 in an empty one.</summary>
    public required long LastStoredTimeMs { get; init; }

    /// <summary>The latest time at which the log was used with a clock that was not in doubt (Unix ms); 0 = not
    /// known.</summary>
    public long ConfirmedMs { get; init; }

    /// <summary>The best bound of the log's bytes of earlier openings; 0 = none.</summary>
    public long BoundBytes { get; init; }

    /// <summary>Whether it was opened without state that is lost: a snapshot keeps the next opening from missing it
    /// again.</summary>
    public bool HasLostState { get; init; }

    /// <summary>Bytes of state records after the newest snapshot.</summary>
    public long StateBytesSinceSnapshot { get; init; }
}
