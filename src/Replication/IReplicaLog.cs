using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>What the rules look at in a replica's log. All calls answer from memory.</summary>
public interface IReplicaLog
{
    /// <summary>The end of what was handed to the operating system, and the entry before it.</summary>
    LogTail Tail { get; }

    /// <summary>The end of what this disk has for certain: fdatasync returned.</summary>
    LogPosition Durable { get; }

    /// <summary>Whether the disk has no room for more messages: one that leads refuses them.</summary>
    bool IsFull { get; }

    /// <summary>Whether the log holds an entry with exactly this place, epoch, CRC and end.</summary>
    /// <returns>Null when it has no entries at that place any more: they are packed or gone.</returns>
    bool? Holds(in LogTail tail);

    /// <summary>The newest epoch up to <paramref name="epoch"/> that has entries here, and where it ends.</summary>
    /// <returns>Epoch 0 with end 0 when there is none.</returns>
    (int Epoch, LogPosition End) EndOfEpoch(int epoch);
}
