namespace EQueue.Load.Measuring;

/// <summary>What a process used since its start.</summary>
/// <param name="CpuNs">User and system time of all its threads.</param>
/// <param name="ResidentBytes">Memory it holds now.</param>
/// <param name="AllocatedBytes">Managed bytes allocated.</param>
/// <param name="TakenNs">When these figures were taken, on <see cref="Clock"/>.</param>
internal sealed record ProcessFigures(long CpuNs, long ResidentBytes, long AllocatedBytes, long TakenNs)
{
    /// <summary>What its connections have carried; null when it was not asked for, or the system does not
    /// say.</summary>
    public SocketBytes? Sockets { get; init; }

    /// <summary>The figures of this process, now.</summary>
    public static ProcessFigures Take() => new(
        (long)(Environment.CpuUsage.TotalTime.TotalMilliseconds * 1e6),
        Environment.WorkingSet,
        GC.GetTotalAllocatedBytes(precise: true),
        Clock.NowNs);

    /// <summary>The same with <see cref="Sockets"/>, which takes some microseconds for each open file.</summary>
    public static ProcessFigures TakeWithSockets() => Take() with { Sockets = SocketBytes.Take() };

    /// <summary>CPU used between two moments; 100 is one core.</summary>
    public double CpuPercentSince(ProcessFigures earlier) =>
        100.0 * (CpuNs - earlier.CpuNs) / Math.Max(1, TakenNs - earlier.TakenNs);
}
