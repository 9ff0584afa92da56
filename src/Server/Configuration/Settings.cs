using System.Globalization;
using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>The settings that exist. What is not in this list is refused.</summary>
internal static class Settings
{
    private const long SmallestMemory = 1 << 20;
    private const string NoFile = "none";
    private const string Address = "HOST:PORT with a port of 0 to 65535";

    /// <summary>Every setting, in the order that people read them.</summary>
    public static IReadOnlyList<Setting> All { get; } =
    [
        new("Server:Listen", $"{Address}, or unix:/path, several separated by commas",
            (options, text) => AreListeners(text)
                ? options with { Broker = options.Broker with { Listen = text } } : null,
            options => options.Broker.Listen),
        new("Server:AdminListen", $"{Address}, or {ServerOptions.NoAdmin}",
            (options, text) => text == ServerOptions.NoAdmin || IsAddress(text)
                ? options with { AdminListen = text } : null,
            options => options.AdminListen),
        new("Server:DataDirectory", "the path of a directory",
            (options, text) => options with { Broker = options.Broker with { DataDirectory = Path.GetFullPath(text) } },
            options => options.Broker.DataDirectory),
        PathOf("Server:Tls:Certificate",
            (tls, path) => tls with { Certificate = path }, tls => tls.Certificate),
        PathOf("Server:Tls:Key", (tls, path) => tls with { Key = path }, tls => tls.Key),
        PathOf("Server:Tls:PasswordFile", (tls, path) => tls with { PasswordFile = path }, tls => tls.PasswordFile),
        new("Server:Tls:ClientCertificates", "none, allow or require",
            (options, text) => ReadClientCertificates(text) is { } asked
                ? asked == ClientCertificates.None && options.Broker.Tls is null
                    ? options : options.WithTls(tls => tls with { ClientCertificates = asked })
                : null,
            options => Spell(options.Broker.Tls?.ClientCertificates)),
        PathOf("Server:Tls:ClientAuthority",
            (tls, path) => tls with { ClientAuthority = path }, tls => tls.ClientAuthority),

        new("Store:FlushPolicy", "sync or async",
            (options, text) => ReadFlushPolicy(text) is { } policy
                ? options.WithStore(store => store with { FlushPolicy = policy }) : null,
            options => options.Broker.Store.FlushPolicy == FlushPolicy.Sync ? "sync" : "async"),
        Duration("Store:FlushInterval", TimeSpan.FromMilliseconds(1), TimeSpan.FromHours(1),
            (options, value) => options.WithStore(store => store with { FlushInterval = value }),
            options => options.Broker.Store.FlushInterval),
        Number("Store:SegmentSizeBytes", StoreOptions.SmallestSegmentBytes, int.MaxValue - (64 << 10),
            (options, value) => options.WithStore(store => store with { SegmentSizeBytes = value }),
            options => options.Broker.Store.SegmentSizeBytes),
        Number("Store:TailMemoryBytes", 32 << 10, 1 << 30,
            (options, value) => options.WithStore(store => store with { TailMemoryBytes = value }),
            options => options.Broker.Store.TailMemoryBytes),
        Number("Store:PageCacheBytes", 0, long.MaxValue,
            (options, value) => options.WithStore(store => store with { PageCacheBytes = value }),
            options => options.Broker.Store.PageCacheBytes),
        Number("Store:MaxLogBytes", 0, long.MaxValue,
            (options, value) => options.WithStore(store => store with { MaxLogBytes = value == 0 ? null : value }),
            options => options.Broker.Store.MaxLogBytes ?? 0),
        Number("Store:ColdReadBytesPerSecond", 1 << 20, long.MaxValue,
            (options, value) => options.WithStore(store => store with { ColdReadBytesPerSecond = value }),
            options => options.Broker.Store.ColdReadBytesPerSecond),
        Number("Store:PackBytesPerSecond", 64 << 10, long.MaxValue,
            (options, value) => options.WithStore(store => store with { PackBytesPerSecond = value }),
            options => options.Broker.Store.PackBytesPerSecond),
        new("Store:ScrubBytesPerSecond", $"0 (off) or {StoreOptions.SmallestScrubRate} or more",
            (options, text) => long.TryParse(text, NumberStyles.None, null, out long value)
                && value is 0 or >= StoreOptions.SmallestScrubRate
                ? options.WithStore(store => store with { ScrubBytesPerSecond = value }) : null,
            options => options.Broker.Store.ScrubBytesPerSecond.ToString(CultureInfo.InvariantCulture)),
        Duration("Store:ScrubInterval", TimeSpan.FromSeconds(1), TimeSpan.FromDays(30),
            (options, value) => options.WithStore(store => store with { ScrubInterval = value }),
            options => options.Broker.Store.ScrubInterval),
        new("Store:Memory", $"false, or {SmallestMemory} or more (bytes)",
            (options, text) => TryReadMemory(text, out long bytes)
                ? options.WithStore(store => store with { Disk = bytes == 0 ? null : new MemoryDisk(bytes) }) : null,
            options => options.Broker.Store.Disk is MemoryDisk memory
                ? memory.LimitBytes.ToString(CultureInfo.InvariantCulture) : "false"),
        new("Store:MemoryFull", "reject, block or oldest-out",
            (options, text) => ReadMemoryFull(text) is { } answer
                ? options.WithStore(store => store with { MemoryFull = answer }) : null,
            options => Spell(options.Broker.Store.MemoryFull)),
        Number("Store:Logs", 1, 1, (options, _) => options, _ => 1),

        Number("Limits:MaxMessageBytes", 1 << 10, 256 << 20,
            (options, value) => options.WithLimits(limits => limits with { MaxMessageBytes = (int)value }),
            options => options.Broker.Limits.MaxMessageBytes),
        Number("Limits:MaxConnections", 1, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxConnections = (int)value }),
            options => options.Broker.Limits.MaxConnections),
        Number("Limits:MemoryBytes", 16 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { MemoryBytes = value }),
            options => options.Broker.Limits.MemoryBytes),
        Number("Limits:ReceiveBytes", 16 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { ReceiveBytes = value }),
            options => options.Broker.Limits.ReceiveBytes),
        Number("Limits:ParkedBytes", 1 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { ParkedBytes = value }),
            options => options.Broker.Limits.ParkedBytes),
        Duration("Limits:MaxBacklogWait", TimeSpan.FromMilliseconds(1), TimeSpan.FromDays(1),
            (options, value) => options.WithLimits(limits => limits with { MaxBacklogWait = value }),
            options => options.Broker.Limits.MaxBacklogWait),

        new("Topics:AutoCreate", "true or false",
            (options, text) => bool.TryParse(text, out bool on)
                ? options.WithTopics(topics => topics with { AutoCreate = on }) : null,
            options => options.Broker.Topics.AutoCreate ? "true" : "false"),
        Number("Topics:QueueCount", 1, 10_000,
            (options, value) => options.WithTopics(topics => topics with { QueueCount = (int)value }),
            options => options.Broker.Topics.QueueCount),
        Duration("Topics:RetentionAge", TimeSpan.Zero, TimeSpan.FromDays(36_500),
            (options, value) => options.WithTopics(topics => topics with { RetentionAge = value }),
            options => options.Broker.Topics.RetentionAge),
        Number("Topics:RetentionBytes", 0, long.MaxValue,
            (options, value) => options.WithTopics(topics => topics with { RetentionBytes = value }),
            options => options.Broker.Topics.RetentionBytes ?? 0),
        Duration("Topics:RetentionInterval", TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1),
            (options, value) => options.WithTopics(topics => topics with { RetentionInterval = value }),
            options => options.Broker.Topics.RetentionInterval),
        Duration("Groups:ReconnectGrace", TimeSpan.Zero, TimeSpan.FromMinutes(1),
            (options, value) => options.WithGroups(groups => groups with { ReconnectGrace = value }),
            options => options.Broker.Groups.ReconnectGrace),
        Duration("Groups:SettleWindow", TimeSpan.Zero, TimeSpan.FromMinutes(1),
            (options, value) => options.WithGroups(groups => groups with { SettleWindow = value }),
            options => options.Broker.Groups.SettleWindow),
        Duration("Groups:OffsetRetention", TimeSpan.Zero, TimeSpan.FromDays(10_000),
            (options, value) => options.WithGroups(groups => groups with { OffsetRetention = value }),
            options => options.Broker.Groups.OffsetRetention),
        Duration("Groups:ExpiryInterval", TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1),
            (options, value) => options.WithGroups(groups => groups with { ExpiryInterval = value }),
            options => options.Broker.Groups.ExpiryInterval),

        Number("Telemetry:MaxSeries", 0, 10_000,
            (options, value) => options.WithTelemetry(telemetry => telemetry with { MaxSeries = (int)value }),
            options => options.Broker.Telemetry.MaxSeries),
        new("Telemetry:OtlpEndpoint", $"{ServerOptions.NoOtlp}, or an http:// or https:// address",
            (options, text) => text == ServerOptions.NoOtlp ? options with { OtlpEndpoint = null }
                : TryReadHttp(text) is { } address ? options with { OtlpEndpoint = address } : null,
            options => options.OtlpEndpoint?.ToString() ?? ServerOptions.NoOtlp),
        Duration("Telemetry:GroupInterval", TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1),
            (options, value) => options.WithTelemetry(telemetry => telemetry with { GroupInterval = value }),
            options => options.Broker.Telemetry.GroupInterval),
    ];

    /// <summary>The setting of that key, letter case aside.</summary>
    public static Setting? Find(string key)
        => All.FirstOrDefault(setting => string.Equals(setting.Key, key, StringComparison.OrdinalIgnoreCase));

    /// <summary>Reads <c>500ms</c>, <c>10s</c>, <c>5m</c>, <c>2h</c>, <c>7d</c> or <c>[d.]hh:mm:ss[.fff]</c>.</summary>
    public static bool TryReadDuration(string text, out TimeSpan value)
    {
        (string suffix, double milliseconds)[] units =
            [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
        foreach ((string suffix, double milliseconds) in units)
        {
            if (!text.EndsWith(suffix, StringComparison.Ordinal)) continue;
            if (!double.TryParse(
                text.AsSpan(0, text.Length - suffix.Length), NumberStyles.AllowDecimalPoint, null, out double count))
            {
                continue;
            }

            double total = count * milliseconds;
            value = total < TimeSpan.MaxValue.TotalMilliseconds ? TimeSpan.FromMilliseconds(total) : TimeSpan.MaxValue;
            return true;
        }

        value = default;
        return text.Contains(':', StringComparison.Ordinal) && TimeSpan.TryParse(text, null, out value);
    }

    private static Setting PathOf(
        string key, Func<ServerTlsOptions, string, ServerTlsOptions> set, Func<ServerTlsOptions, string?> get)
        => new(
            key,
            "the path of a file, or none",
            (options, text) => text == NoFile ? options : options.WithTls(tls => set(tls, Path.GetFullPath(text))),
            options => (options.Broker.Tls is { } tls ? get(tls) : null) ?? NoFile);

    private static Setting Number(
        string key, long least, long most, Func<ServerOptions, long, ServerOptions> set, Func<ServerOptions, long> get)
        => new(
            key,
            least == most ? $"{least}" : most == long.MaxValue ? $"{least} or more" : $"{least} to {most}",
            (options, text) => long.TryParse(text, NumberStyles.None, null, out long value)
                && value >= least && value <= most ? set(options, value) : null,
            options => get(options).ToString(CultureInfo.InvariantCulture));

    private static Setting Duration(
        string key,
        TimeSpan least,
        TimeSpan most,
        Func<ServerOptions, TimeSpan, ServerOptions> set,
        Func<ServerOptions, TimeSpan> get)
        => new(
            key,
            $"{least} to {most}, written like 100ms, 10s, 5m, 2h, 7d or hh:mm:ss",
            (options, text) => TryReadDuration(text, out TimeSpan value) && value >= least && value <= most
                ? set(options, value) : null,
            options => get(options).ToString());

    private static ClientCertificates? ReadClientCertificates(string text) => text.ToUpperInvariant() switch
    {
        "NONE" => ClientCertificates.None,
        "ALLOW" => ClientCertificates.Allow,
        "REQUIRE" => ClientCertificates.Require,
        _ => null,
    };

    private static string Spell(ClientCertificates? asked) => asked switch
    {
        ClientCertificates.Allow => "allow",
        ClientCertificates.Require => "require",
        _ => "none",
    };

    private static FlushPolicy? ReadFlushPolicy(string text)
    {
        if (text.Equals("sync", StringComparison.OrdinalIgnoreCase)) return FlushPolicy.Sync;
        return text.Equals("async", StringComparison.OrdinalIgnoreCase) ? FlushPolicy.Async : null;
    }

    private static bool TryReadMemory(string text, out long bytes)
        => long.TryParse(text, NumberStyles.None, null, out bytes)
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
        if (text.Equals("reject", StringComparison.OrdinalIgnoreCase)) return MemoryFull.Reject;
        if (text.Equals("block", StringComparison.OrdinalIgnoreCase)) return MemoryFull.Block;
        return text.Equals("oldest-out", StringComparison.OrdinalIgnoreCase) ? MemoryFull.OldestOut : null;
    }

    private static bool AreListeners(string text) =>
        HostPort.Split(text) is { Length: > 0 } addresses && addresses.All(address =>
            address.StartsWith(HostPort.UnixPrefix, StringComparison.Ordinal)
                ? HostPort.TryParse(address, out _) : IsAddress(address));

    private static Uri? TryReadHttp(string text)
        => Uri.TryCreate(text, UriKind.Absolute, out Uri? address) && (address.Scheme is "http" or "https")
            ? address
            : null;

    private static bool IsAddress(string text)
    {
        int colon = text.LastIndexOf(':');
        return colon > 0
            && ushort.TryParse(text.AsSpan(colon + 1), NumberStyles.None, null, out _)
            && (text[0] == '[' || text.IndexOf(':', StringComparison.Ordinal) == colon);
    }
}
