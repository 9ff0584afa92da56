namespace EQueue.Server.Configuration;

/// <summary>What the broker makes topics of, keeps of groups and tells of itself.</summary>
internal static class BrokerSettings
{
    public static Setting[] All { get; } =
    [
        SettingKinds.Flag("Topics:AutoCreate",
            "whether sending to an unknown topic makes it",
            (options, on) => options.WithTopics(topics => topics with { AutoCreate = on }),
            options => options.Broker.Topics.AutoCreate) with { IsReloadable = true },
        SettingKinds.Number("Topics:QueueCount",
            "queues of a topic whose maker does not say",
            1, 10_000,
            (options, value) => options.WithTopics(topics => topics with { QueueCount = (int)value }),
            options => options.Broker.Topics.QueueCount) with { IsReloadable = true },
        SettingKinds.Duration("Topics:RetentionAge",
            "messages older than this go, 0: never; of a topic made from now on, unless its maker says",
            TimeSpan.Zero, TimeSpan.FromDays(36_500),
            (options, value) => options.WithTopics(topics => topics with { RetentionAge = value }),
            options => options.Broker.Topics.RetentionAge) with { IsReloadable = true },
        SettingKinds.Size("Topics:RetentionBytes",
            "the oldest messages go when a topic holds more, 0: no bound; of a topic made from now on, unless its "
            + "maker says",
            0, long.MaxValue,
            (options, value) => options.WithTopics(topics => topics with { RetentionBytes = value }),
            options => options.Broker.Topics.RetentionBytes ?? 0) with { IsReloadable = true },
        SettingKinds.Duration("Topics:RetentionInterval",
            "how often topics are looked through for what they no longer keep; first soon after the start",
            TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1),
            (options, value) => options.WithTopics(topics => topics with { RetentionInterval = value }),
            options => options.Broker.Topics.RetentionInterval),

        SettingKinds.Duration("Groups:ReconnectGrace",
            "how long a member of a group may be without a connection before its queues go to others",
            TimeSpan.Zero, TimeSpan.FromMinutes(1),
            (options, value) => options.WithGroups(groups => groups with { ReconnectGrace = value }),
            options => options.Broker.Groups.ReconnectGrace),
        SettingKinds.Duration("Groups:SettleWindow",
            "how long a group that had members when the broker ended waits for them after a start",
            TimeSpan.Zero, TimeSpan.FromMinutes(1),
            (options, value) => options.WithGroups(groups => groups with { SettleWindow = value }),
            options => options.Broker.Groups.SettleWindow),
        SettingKinds.Duration("Groups:OffsetRetention",
            "how long the progress of a group without members is kept after its last commit, or after its "
            + "last member went; 0: without end",
            TimeSpan.Zero, TimeSpan.FromDays(10_000),
            (options, value) => options.WithGroups(groups => groups with { OffsetRetention = value }),
            options => options.Broker.Groups.OffsetRetention),
        SettingKinds.Duration("Groups:ExpiryInterval",
            "how often groups are looked through for those to let go",
            TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1),
            (options, value) => options.WithGroups(groups => groups with { ExpiryInterval = value }),
            options => options.Broker.Groups.ExpiryInterval),

        SettingKinds.Number("Telemetry:MaxSeries",
            "pairs of group and topic, and topics, that have metrics of their own; the rest is summed",
            0, 10_000,
            (options, value) => options.WithTelemetry(telemetry => telemetry with { MaxSeries = (int)value }),
            options => options.Broker.Telemetry.MaxSeries) with
        {
            Unit = "series",
            AtLimit = "the rest is summed",
        },
        new("Telemetry:OtlpEndpoint",
            "an OpenTelemetry collector that gets the metrics",
            $"{ServerOptions.NoOtlp}, or an http:// or https:// address",
            (options, text) => text == ServerOptions.NoOtlp ? options with { OtlpEndpoint = null }
                : TryReadHttp(text) is { } address ? options with { OtlpEndpoint = address } : null,
            options => options.OtlpEndpoint?.ToString() ?? ServerOptions.NoOtlp),
        SettingKinds.Duration("Telemetry:GroupInterval",
            "how often backlog and lag of groups are computed for the metrics",
            TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1),
            (options, value) => options.WithTelemetry(telemetry => telemetry with { GroupInterval = value }),
            options => options.Broker.Telemetry.GroupInterval),
    ];

    private static Uri? TryReadHttp(string text)
        => Uri.TryCreate(text, UriKind.Absolute, out Uri? address) && (address.Scheme is "http" or "https")
            ? address
            : null;
}
