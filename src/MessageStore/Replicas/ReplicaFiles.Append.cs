using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Bytes in, synced, cut, out.</content>
public sealed partial class ReplicaFiles
{
    /// <summary>Stores entries of a leader at the end; handed to the system when it returns.</summary>
    /// <param name="entries">Whole entries and groups, as the leader stores them.</param>
    /// <param name="epoch">The leader's.</param>
    /// <exception cref="ReplicaException">They are not what may stand there; nothing was written.</exception>
    /// <exception cref="StoreFormatException">They are a later version's.</exception>
    /// <exception cref="DiskException">The disk failed, or is full (<see cref="DiskFault.Full"/>): then what follows
    /// <see cref="Tail"/> may be tried again.</exception>
    public void AppendStored(ReadOnlySpan<byte> entries, int epoch) => _log.AppendStored(entries, epoch);

    /// <summary>Makes everything durable that was stored; notes it at the end of each segment, and once a
    /// second.</summary>
    /// <exception cref="DiskException">The disk failed: nothing is known of it any more.</exception>
    public void Sync()
    {
        _log.Sync();
        _copies.NoteCopied();
    }

    /// <summary>Cuts the log to the end of an entry, durably.</summary>
    /// <param name="end">The end of an entry that ends no half of a group, in a segment that is not packed.</param>
    /// <exception cref="ReplicaException">No entry ends there; nothing was changed.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public void CutTo(LogPosition end) => _log.CutTo(end, _copies.BeginCut(end));

    /// <summary>Reads entries for a follower: whole entries and groups, nothing behind a seal, the start of an epoch
    /// only as the first.</summary>
    /// <param name="from">The end of an entry.</param>
    /// <param name="destination">Where they go.</param>
    /// <param name="needed">When the first entry or group is larger than the destination: bytes to come again
    /// with, as far as can be told; else 0.</param>
    /// <returns>Bytes read; 0 at the end; -1 when the bytes are packed or gone: then files must be copied.</returns>
    public int Read(LogPosition from, Span<byte> destination, out int needed) =>
        _log.Read(from, destination, out needed);

    /// <summary>Whether the log holds exactly this entry: place, epoch, checksum and end.</summary>
    public bool Holds(in ReplicaTail tail) => _log.Holds(tail);
}
