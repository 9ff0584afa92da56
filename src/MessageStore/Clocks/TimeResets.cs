namespace EQueue.MessageStore;

/// <summary>Where stored times of a log went back, because they had been ahead of the right time.</summary>
/// <remarks>
/// What was stored before such a place counts as stored no later than the time that holds from there on: so counted,
/// times never decrease in a log. Changed under the log's lock or by recovery, read by any thread.
/// </remarks>
internal sealed class TimeResets
{
    private (long Position, long TimeMs)[] _resets = [];

    /// <summary>In the order of positions: entries from the position on were stored at the time (Unix ms) or later.
    /// </summary>
    public ReadOnlySpan<(long Position, long TimeMs)> All => Volatile.Read(ref _resets);

    /// <summary>Adds a place, the last so far; one that is known is passed over.</summary>
    public void Add(long position, long timeMs)
    {
        (long Position, long TimeMs)[] resets = _resets;
        if (resets.Length == 0 || resets[^1].Position < position)
            Volatile.Write(ref _resets, [.. resets, (position, timeMs)]);
    }

    /// <summary>When the entry at a position was stored, as far as that is known (Unix ms).</summary>
    /// <param name="position">Of the entry.</param>
    /// <param name="storedMs">As the entry says it.</param>
    public long Correct(long position, long storedMs)
    {
        ReadOnlySpan<(long Position, long TimeMs)> resets = All;
        for (int i = resets.Length - 1; i >= 0 && resets[i].Position > position; i--)
            storedMs = Math.Min(storedMs, resets[i].TimeMs);
        return storedMs;
    }
}
