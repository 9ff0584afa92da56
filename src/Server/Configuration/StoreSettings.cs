using System.Globalization;
using EQueue.MessageStore;

namespace EQueue.Server.Configuration;

/// <summary>How messages are kept.</summary>
internal static class StoreSettings
{
    private const long SmallestMemory = 1 << 20;

    public static Setting[] All { get; } =
    [
        new("Store:FlushPolicy",
            "what an acknowledgement promises",
            "sync or async",
            (options, text) => ReadFlushPolicy(text) is { } policy
                ? options.WithStore(store => store with { FlushPolicy = policy }) : null,
            options => options.Broker.Store.FlushPolicy == FlushPolicy.Sync ? "sync" : "async"),
        SettingKinds.Duration("Store:FlushInterval",
            "with async: the longest time that something acknowledged is not yet durable",
            TimeSpan.FromMilliseconds(1), TimeSpan.FromHours(1),
            (options, value) => options.WithStore(store => store with { FlushInterval = value }),
            options => options.Broker.Store.FlushInterval),
        SettingKinds.Size("Store:SegmentSizeBytes",
            "size of a log file",
            StoreOptions.SmallestSegmentBytes, int.MaxValue - (64 << 10),
            (options, value) => options.WithStore(store => store with { SegmentSizeBytes = value }),
            options => options.Broker.Store.SegmentSizeBytes),
        SettingKinds.Size("Store:TailMemoryBytes",
            "memory that serves readers who keep up",
            32 << 10, 1 << 30,
            (options, value) => options.WithStore(store => store with { TailMemoryBytes = value }),
            options => options.Broker.Store.TailMemoryBytes) with
        {
            Unit = "bytes",
            AtLimit = "older messages are read from disk; senders wait while it is not written",
        },
        SettingKinds.Size("Store:PageCacheBytes",
            "newest bytes of the log that stay in the system's page cache; readers further behind read from "
            + "disk",
            0, long.MaxValue,
            (options, value) => options.WithStore(store => store with { PageCacheBytes = value }),
            options => options.Broker.Store.PageCacheBytes),
        SettingKinds.Size("Store:MaxLogBytes",
            "when the log takes more, the oldest messages of all topics go; 0: 80 % of what the volume gives the log, "
            + "which files of others that come later do not lessen",
            0, long.MaxValue,
            (options, value) => options.WithStore(store => store with { MaxLogBytes = value == 0 ? null : value }),
            options => options.Broker.Store.MaxLogBytes ?? 0) with
        {
            Unit = "bytes",
            AtLimit = "the oldest messages of all topics go",
        },
        SettingKinds.Flag("Store:AcceptClock",
            "for one start: the system's clock is right although stored times are ahead of it; they go back to the "
            + "clock's",
            (options, value) => options.WithStore(store => store with { AcceptClock = value }),
            options => options.Broker.Store.AcceptClock),
        SettingKinds.Flag("Store:AcceptLostState",
            "for one start: opens a log of which damage took topics, progress of groups or other state, without it",
            (options, value) => options.WithStore(store => store with { AcceptLostState = value }),
            options => options.Broker.Store.AcceptLostState),
        SettingKinds.Size("Store:ColdReadBytesPerSecond",
            "what all consumers that are far behind together read from disk while producers send, or twice what those "
            + "send if that is more; without a limit when none has sent for a second",
            1 << 20, long.MaxValue,
            (options, value) => options.WithStore(store => store with { ColdReadBytesPerSecond = value }),
            options => options.Broker.Store.ColdReadBytesPerSecond),
        SettingKinds.Size("Store:PackBytesPerSecond",
            "how fast kept messages are moved out of mostly dead segments",
            64 << 10, long.MaxValue,
            (options, value) => options.WithStore(store => store with { PackBytesPerSecond = value }),
            options => options.Broker.Store.PackBytesPerSecond),
        new("Store:ScrubBytesPerSecond",
            "rate at which old segments are read again to find rotten bytes",
            $"0 (off) or {SettingKinds.WriteSize(StoreOptions.SmallestScrubRate)} or more{SettingKinds.SizeForms}",
            (options, text) => SettingKinds.TryReadSize(text, out long value)
                && value is 0 or >= StoreOptions.SmallestScrubRate
                ? options.WithStore(store => store with { ScrubBytesPerSecond = value }) : null,
            options => options.Broker.Store.ScrubBytesPerSecond.ToString(CultureInfo.InvariantCulture))
        {
            Write = options => SettingKinds.WriteSize(options.Broker.Store.ScrubBytesPerSecond),
        },
        SettingKinds.Duration("Store:ScrubInterval",
            "a scrub of the whole log starts at most this often",
            TimeSpan.FromSeconds(1), TimeSpan.FromDays(30),
            (options, value) => options.WithStore(store => store with { ScrubInterval = value }),
            options => options.Broker.Store.ScrubInterval),
        new("Store:Memory",
            "bytes of memory that hold the messages instead of the data directory",
            $"false, or {SettingKinds.WriteSize(SmallestMemory)} or more{SettingKinds.SizeForms}",
            (options, text) => TryReadMemory(text, out long bytes)
                ? options.WithStore(store => store with { Disk = bytes == 0 ? null : new MemoryDisk(bytes) }) : null,
            options => options.Broker.Store.Disk is MemoryDisk memory
                ? memory.LimitBytes.ToString(CultureInfo.InvariantCulture) : "false"),
        new("Store:MemoryFull",
            "in memory: what becomes of messages when it is full",
            "reject, block or oldest-out",
            (options, text) => ReadMemoryFull(text) is { } answer
                ? options.WithStore(store => store with { MemoryFull = answer }) : null,
            options => Spell(options.Broker.Store.MemoryFull)),
        SettingKinds.Number("Store:Logs",
            "several logs per broker are not part of this version",
            1, 1, (options, _) => options, _ => 1),
    ];

    private static FlushPolicy? ReadFlushPolicy(string text)
    {
        if (text.Equals("sync", StringComparison.OrdinalIgnoreCase))
            return FlushPolicy.Sync;
        return text.Equals("async", StringComparison.OrdinalIgnoreCase) ? FlushPolicy.Async : null;
    }

    private static bool TryReadMemory(string text, out long bytes)
        => SettingKinds.TryReadSize(text, out bytes)
            ? bytes is 0 or >= SmallestMemory
            : bool.TryParse(text, out bool isOn) && !isOn;

    private static string Spell(MemoryFull full) => full switch
    {
        MemoryFull.Block => "block",
        MemoryFull.OldestOut => "oldest-out",
        _ => "reject",
    };

    private static MemoryFull? ReadMemoryFull(string text)
    {
        if (text.Equals("reject", StringComparison.OrdinalIgnoreCase))
            return MemoryFull.Reject;
        if (text.Equals("block", StringComparison.OrdinalIgnoreCase))
            return MemoryFull.Block;
        return text.Equals("oldest-out", StringComparison.OrdinalIgnoreCase) ? MemoryFull.OldestOut : null;
    }
}
