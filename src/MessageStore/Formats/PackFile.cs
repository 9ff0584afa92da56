using System.Globalization;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>A packed segment on disk: what was kept of one or several neighbouring segments, queue by queue.</summary>
/// <param name="Path">The file.</param>
/// <param name="Generation">Above those of all packs it replaces.</param>
/// <param name="From">Base position of the first segment it stands for.</param>
/// <param name="To">End position of the last.</param>
/// <param name="CreatedMs">Unix milliseconds.</param>
internal sealed record PackFile(string Path, int Generation, LogPosition From, LogPosition To, long CreatedMs)
{
    /// <summary>Ends the name of a packed segment: <c>00000000000000001234.7.pack</c>, base position and
    /// generation.</summary>
    public const string Suffix = ".pack";

    private const int PositionDigits = 20;

    private long Length => To.Value - From.Value;

    /// <summary>Its index file.</summary>
    public string IndexPath => IndexOf(Path);

    /// <summary>Whether a segment or an older pack with this base is part of it.</summary>
    public bool Covers(LogPosition basePosition) => basePosition >= From && basePosition < To;

    /// <summary>The index file of a packed segment.</summary>
    public static string IndexOf(string path) => path + LogFiles.IndexSuffix;

    /// <summary>The name of a pack.</summary>
    public static string PathOf(string logDirectory, LogPosition from, int generation) => System.IO.Path.Combine(
        logDirectory,
        string.Create(CultureInfo.InvariantCulture, $"{from.Value:D20}.{generation}{Suffix}"));

    /// <summary>Reads base position and generation out of a name.</summary>
    public static bool TryParse(string name, out LogPosition from, out int generation)
    {
        (from, generation) = (default, 0);
        if (!name.EndsWith(Suffix, StringComparison.Ordinal) || name.Length < PositionDigits + 2 + Suffix.Length
            || name[PositionDigits] != '.'
            || !long.TryParse(
                name.AsSpan(0, PositionDigits), NumberStyles.None, CultureInfo.InvariantCulture, out long position)
            || !int.TryParse(
                name.AsSpan(PositionDigits + 1, name.Length - PositionDigits - 1 - Suffix.Length),
                NumberStyles.None, CultureInfo.InvariantCulture, out generation))
        {
            return false;
        }

        from = new LogPosition(position);
        return true;
    }

    /// <summary>The packs of a log that count, by position. One that lies in another one is replaced, whichever is the
    /// later one: a follower takes packs of several leaders, and the generations of those know nothing of each
    /// other.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="logDirectory">The log's folder.</param>
    /// <param name="replaced">Files that a crash kept from being removed: replaced packs and their indexes, indexes
    /// without a pack.</param>
    /// <exception cref="StoreFormatException">A pack of a later version; or one whose range can no longer be
    /// told.</exception>
    public static List<PackFile> Find(IDisk disk, string logDirectory, out List<string> replaced)
    {
        var packs = new List<PackFile>();
        var indexes = new List<string>();
        foreach (DiskEntry entry in disk.List(logDirectory))
        {
            string path = System.IO.Path.Combine(logDirectory, entry.Name);
            if (TryParse(entry.Name, out LogPosition from, out int generation))
                packs.Add(Open(disk, path, from, generation));
            else if (entry.Name.EndsWith(Suffix + LogFiles.IndexSuffix, StringComparison.Ordinal))
                indexes.Add(path);
        }

        packs.Sort((one, other) => (other.Length, other.Generation).CompareTo((one.Length, one.Generation)));
        var kept = new List<PackFile>();
        replaced = [];
        foreach (PackFile pack in packs)
        {
            if (kept.Any(larger => larger.From <= pack.From && larger.To >= pack.To))
                replaced.Add(pack.Path);
            else
                kept.Add(pack);
        }

        replaced.AddRange(indexes.Where(index => !kept.Any(pack => pack.IndexPath == index)));
        kept.Sort((one, other) => one.From.CompareTo(other.From));
        return kept;
    }

    private static PackFile Open(IDisk disk, string path, LogPosition from, int generation)
    {
        FileVerdict verdict = SegmentHeader.Read(
            WholeFile.Read(disk, path, SegmentHeader.Length), out SegmentHeader? header);
        if (verdict == FileVerdict.Valid && header!.IsPacked && header.BasePosition == from)
            return new PackFile(path, generation, from, header.PackedTo, header.CreatedMs);
        if (verdict == FileVerdict.Refused)
            throw LaterVersion.Refuse(disk, path);

        // The index says the same of the range.
        verdict = SectionFileReader.TryOpen(
            disk, IndexOf(path), SealedIndexWriter.Magic, out SectionFileReader? index);
        using (index)
        {
            return verdict == FileVerdict.Valid && index!.Header.StartPosition == from
                ? new PackFile(path, generation, from, index.Header.EndPosition, index.Header.CreatedMs)
                : throw new StoreFormatException(
                    path, "neither the packed segment's header nor its index tells which positions it holds.");
        }
    }
}
