using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One segment file as <see cref="LogInspector"/> sees it.</summary>
/// <param name="File">Its name.</param>
/// <param name="BasePosition">Of its first entry.</param>
/// <param name="Capacity">Bytes of entries it was made for; 0 when its header is damaged.</param>
/// <param name="Epoch">In which it was begun; 0 when its header is damaged.</param>
/// <param name="Created">When it was made; the Unix epoch when its header is damaged.</param>
/// <param name="IsHeaderWhole">Whether its header matches its checksum.</param>
/// <param name="IsIndexWhole">Whether its index is whole; null when it has none.</param>
public sealed record SegmentSummary(
    string File,
    LogPosition BasePosition,
    long Capacity,
    int Epoch,
    DateTimeOffset Created,
    bool IsHeaderWhole,
    bool? IsIndexWhole);
