using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The files that hold a log's entries, as the folder lists them.</summary>
/// <param name="Packs">Those that count, by position.</param>
/// <param name="Bases">The base positions of the segments that no pack stands for, rising.</param>
/// <param name="Replaced">Files that a crash kept from being removed when a pack took their place.</param>
internal sealed record SegmentFiles(List<PackFile> Packs, List<LogPosition> Bases, List<string> Replaced)
{
    /// <summary>Lists a log's folder.</summary>
    /// <exception cref="StoreFormatException">A pack of a later version; or one whose range can no longer be
    /// told.</exception>
    public static SegmentFiles Find(IDisk disk, string directory)
    {
        List<PackFile> packs = PackFile.Find(disk, directory, out List<string> replaced);
        ILookup<bool, LogPosition> bases = LogFiles.Find(disk, directory, LogFiles.SegmentSuffix)
            .ToLookup(position => packs.Exists(pack => pack.Covers(position)));
        foreach (LogPosition covered in bases[true])
            replaced.AddRange([LogFiles.Segment(directory, covered), LogFiles.Index(directory, covered)]);
        return new SegmentFiles(packs, [.. bases[false]], replaced);
    }
}
