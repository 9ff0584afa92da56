using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>Divides the memory that the process may use: defaults of limits are at most their share of it.</summary>
/// <remarks>
/// What is left when the process itself and the store have theirs is divided by the table; a quarter of it stays free,
/// for the garbage collector and for arrays that are larger than what is in them. A limit that is set is left as it is.
/// </remarks>
internal static class MemoryPlan
{
    /// <summary>The process without a peer.</summary>
    public const long OwnBytes = 48L << 20;

    /// <summary>An idle connection.</summary>
    public const int ConnectionBytes = 16 << 10;

    /// <summary>A queue with its index.</summary>
    public const int QueueBytes = 700;

    /// <summary>A topic with its settings, without its queues.</summary>
    public const int TopicBytes = 1_500;

    /// <summary>Less is divided by no machine: the process would not be able to do its work.</summary>
    private const long LeastDividedBytes = 32L << 20;

    /// <summary>Each limit's share in per cent, and what one of what it counts takes in bytes.</summary>
    internal static readonly IReadOnlyList<MemoryShare> Shares =
    [
        new(nameof(LimitOptions.ReceiveBytes), 13, 1),
        new(nameof(LimitOptions.MemoryBytes), 12, 1),
        new(nameof(LimitOptions.RequestBytes), 8, 1),
        new(nameof(LimitOptions.MaxConnections), 6, ConnectionBytes),
        new(nameof(LimitOptions.AdminBytes), 6, 1),
        new(nameof(LimitOptions.ParkedBytes), 5, 1),
        new(nameof(LimitOptions.MaxQueues), 6, QueueBytes),
        new(nameof(LimitOptions.MaxTopics), 2, TopicBytes),
        new(nameof(LimitOptions.ProgressBytes), 5, 1),
        new(nameof(LimitOptions.FetchSessionBytes), 4, 1),
        new(nameof(LimitOptions.ProducerBytes), 3, 1),
        new(nameof(LimitOptions.MemberBytes), 3, 1),
        new(nameof(LimitOptions.SecurityBytes), 2, 1),
    ];

    /// <summary>The limits with their defaults cut to what the memory allows.</summary>
    /// <param name="limits">As they are set.</param>
    /// <param name="store">What it takes.</param>
    /// <param name="usableBytes">What the heap may grow to.</param>
    public static LimitOptions Apply(LimitOptions limits, StoreOptions store, long usableBytes)
    {
        long stored = store.TailMemoryBytes + (store.Disk is MemoryDisk disk ? disk.LimitBytes : 0);
        long divided = Math.Max(LeastDividedBytes, usableBytes - OwnBytes - stored);
        return limits.CutDefaults(
            Shares.ToDictionary(share => share.Limit, share => divided / 100 * share.Percent / share.UnitBytes));
    }
}

/// <summary>A limit's part of the memory.</summary>
/// <param name="Limit">A property of <see cref="LimitOptions"/>.</param>
/// <param name="Percent">Of what is divided.</param>
/// <param name="UnitBytes">What one of what the limit counts takes.</param>
internal readonly record struct MemoryShare(string Limit, int Percent, int UnitBytes);
