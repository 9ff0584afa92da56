namespace EQueue.MessageStore;

/// <summary>What a look-up by key found, and how far it came.</summary>
/// <param name="Start">The queue's start offset.</param>
/// <param name="VisibleEnd">The offset after the last visible record when the look-up began.</param>
/// <param name="NextOffset">Everything before it was looked at: where the next look-up continues.</param>
/// <param name="Offsets">Of the records with the key, rising.</param>
/// <param name="ReadBytes">Bytes that were read from entries, and what they grew to where they were compressed.</param>
/// <param name="UnreadableCount">Offsets passed over that cannot be looked into: damaged, or compressed in another way
/// than gzip, or larger than 32 MiB when decompressed.</param>
public readonly record struct KeyMatches(
    QueueOffset Start,
    QueueOffset VisibleEnd,
    QueueOffset NextOffset,
    IReadOnlyList<QueueOffset> Offsets,
    long ReadBytes,
    long UnreadableCount);
