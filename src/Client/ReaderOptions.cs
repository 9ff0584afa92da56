namespace EQueue.Client;

/// <summary>What a reader does when its offset is not in the queue (any more).</summary>
public enum OutOfRangePolicy
{
    /// <summary>Continues at the first message still stored.</summary>
    Begin = 0,

    /// <summary>Continues at the end.</summary>
    End = 1,

    /// <summary>Throws <see cref="ErrorCode.OffsetOutOfRange"/>.</summary>
    Throw = 2,
}

/// <summary>What a reader does with messages that the broker's disk has damaged.</summary>
public enum DamagedDataPolicy
{
    /// <summary>Throws <see cref="DamagedDataException"/>; seeking to its next offset passes over them.</summary>
    Throw = 0,

    /// <summary>Logs the offsets and continues behind them.</summary>
    Skip = 1,
}

/// <summary>What a reader does when the broker's log has another history than the one it has read: a backup was
/// restored, or a power cut took the end of the log.</summary>
public enum DivergedHistoryPolicy
{
    /// <summary>Logs a warning and continues where the histories part: nothing new is passed over.</summary>
    GoOn = 0,

    /// <summary>Throws <see cref="DivergedHistoryException"/>; seeking to its next offset continues.</summary>
    Throw = 1,
}

/// <summary>How queues are fetched.</summary>
public record ReaderOptions
{
    /// <summary>Tags wanted; empty takes every message. Default: empty.</summary>
    public IReadOnlyList<string> Tags { get; init; } = [];

    /// <summary>
    /// Bytes that one fetch asks for over all queues: 4 KiB to 32 MiB. One larger entry is given all the same.
    /// Default: 1 MiB.
    /// </summary>
    public int FetchBytes { get; init; } = 1024 * 1024;

    /// <summary>Bytes that one fetch asks for of one queue: 4 KiB to 32 MiB. Default: 1 MiB.</summary>
    public int FetchBytesPerQueue { get; init; } = 1024 * 1024;

    /// <summary>Bytes that the broker waits for before it answers: 1 or more. Default: 1.</summary>
    public int MinFetchBytes { get; init; } = 1;

    /// <summary>
    /// How long the broker waits for them, and at most keeps it to itself how far it passed over messages without a
    /// wanted tag; 1 ms or more. Default: 5 s.
    /// </summary>
    public TimeSpan MaxFetchWait { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Bytes fetched ahead of the reader; the next fetch leaves while less than this waits. 0 or more. Default: 4 MiB.
    /// </summary>
    public int PrefetchBytes { get; init; } = 4 * 1024 * 1024;

    /// <summary>What happens when the offset is not in the queue (any more). Default: Begin.</summary>
    public OutOfRangePolicy WhenOutOfRange { get; init; }

    /// <summary>What happens at messages that the broker's disk has damaged. Default: Throw.</summary>
    public DamagedDataPolicy WhenDamaged { get; init; }

    /// <summary>What happens when the broker's log has another history than the one that was read.
    /// Default: GoOn.</summary>
    public DivergedHistoryPolicy WhenDiverged { get; init; }

    /// <summary>Ends the enumeration at the end offsets that the queues had when it began. Default: false.</summary>
    public bool StopAtEnd { get; init; }

    /// <summary>Checks every value.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range; the message names it.</exception>
    public virtual void Validate()
    {
        const int Least = 4 * 1024;
        const int Most = 32 * 1024 * 1024;
        Option.Require(Tags is not null, nameof(Tags), "null", "a list");
        Option.Require(FetchBytes is >= Least and <= Most, nameof(FetchBytes), FetchBytes, "4 KiB to 32 MiB");
        Option.Require(
            FetchBytesPerQueue is >= Least and <= Most,
            nameof(FetchBytesPerQueue),
            FetchBytesPerQueue,
            "4 KiB to 32 MiB");
        Option.Require(MinFetchBytes >= 1, nameof(MinFetchBytes), MinFetchBytes, "1 or more");
        Option.RequireAtLeast(MaxFetchWait, TimeSpan.FromMilliseconds(1), nameof(MaxFetchWait));
        Option.Require(PrefetchBytes >= 0, nameof(PrefetchBytes), PrefetchBytes, "0 or more");
        Option.Require(Enum.IsDefined(WhenOutOfRange), nameof(WhenOutOfRange), WhenOutOfRange, "Begin, End or Throw");
        Option.Require(Enum.IsDefined(WhenDiverged), nameof(WhenDiverged), WhenDiverged, "GoOn or Throw");
        Option.Require(Enum.IsDefined(WhenDamaged), nameof(WhenDamaged), WhenDamaged, "Throw or Skip");
    }
}
