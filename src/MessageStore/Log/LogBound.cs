namespace EQueue.MessageStore;

/// <summary>The bytes that a log may take before its oldest messages go, a share of what its volume
/// gives it when nothing is set.</summary>
/// <remarks>
/// Files of others that come later take nothing from it: messages are refused when the volume is full, not destroyed
/// to make room for others. It is what the volume gave at the best look, the ones of earlier openings included, and no
/// less than what was stored at the opening. Only the volume's size bounds it from above. docs/decisions/0034.
/// Any thread.
/// </remarks>
internal sealed class LogBound
{
    private const double DiskShare = 0.8;

    private readonly StoreOptions _options;
    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly Func<long> _stored;
    private long _best;

    /// <summary>Looks at the volume for the first time.</summary>
    /// <param name="options">As they are used.</param>
    /// <param name="disk">The volume.</param>
    /// <param name="directory">Where on it.</param>
    /// <param name="stored">Bytes of the log's files now.</param>
    /// <param name="best">The bound of earlier openings; 0 = none.</param>
    public LogBound(StoreOptions options, IDisk disk, string directory, Func<long> stored, long best)
    {
        (_options, _disk, _directory, _stored) = (options, disk, directory, stored);
        _best = Math.Max(best, stored());
        Note(disk.FreeBytes(directory));
    }

    /// <summary>The best bound so far: to be kept for the next opening.</summary>
    public long Best => Volatile.Read(ref _best);

    /// <summary>The volume has so many bytes free now.</summary>
    public void Note(long freeBytes)
    {
        long room = ShareOf(_stored() + freeBytes);
        if (room > Best)
            Volatile.Write(ref _best, room);
    }

    /// <summary>The bound now.</summary>
    public long Find()
    {
        long most = ShareOf(_disk.CapacityBytes(_directory));
        if (_options.MaxLogBytes is { } set)
            return Math.Min(set, most);
        Note(_disk.FreeBytes(_directory));
        return Math.Min(Best, most);
    }

    /// <summary>Beside the log there is room for the reserve, the next file, and one that is about to go.</summary>
    private long ShareOf(long bytes)
    {
        long beside = _options.EffectiveReserveBytes + (2 * _options.SegmentSizeBytes);
        return Math.Max(0, Math.Min((long)(DiskShare * bytes), bytes - beside));
    }
}
