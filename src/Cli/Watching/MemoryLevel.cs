namespace EQueue.Cli.Watching;

/// <summary>How full a pool of a broker's memory is.</summary>
/// <param name="Pool">Its name.</param>
/// <param name="UsedBytes">What is taken.</param>
/// <param name="MaxBytes">What may be.</param>
internal sealed record MemoryLevel(string Pool, long UsedBytes, long MaxBytes)
{
    private const string Used = "memory.usedBytes{";

    /// <summary>The part that is taken, in per cent.</summary>
    public long Percent => MaxBytes > 0 ? 100 * UsedBytes / MaxBytes : 0;

    /// <summary>The pools of one broker; none of an older one, which does not tell.</summary>
    public static IEnumerable<MemoryLevel> Read(BrokerFigures figures) =>
        from figure in figures.All
        where figure.Name.StartsWith(Used, StringComparison.Ordinal)
        let pool = figure.Name[Used.Length..^1]
        select new MemoryLevel(pool, figure.Value, figures.Find($"memory.maxBytes{{{pool}}}") ?? 0);

    /// <summary>Of each pool the fullest, the fullest pool first. The tail is always full: it is left out.</summary>
    public static IReadOnlyList<MemoryLevel> Fullest(IEnumerable<MemoryLevel> levels) =>
    [
        .. levels.Where(static level => level.Pool != "tail")
            .GroupBy(static level => level.Pool, StringComparer.Ordinal)
            .Select(static pool => pool.MaxBy(static level => level.Percent)!)
            .OrderByDescending(static level => level.Percent)
            .ThenBy(static level => level.Pool, StringComparer.Ordinal),
    ];
}
