using System.Diagnostics;
using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>The client's counters and histograms, one set for the process. Without a listener, each call is a
/// branch.</summary>
/// <remarks>Not to be told anything under a lock: listeners run in the call. One that throws is logged and holds
/// nothing up. docs/telemetry.md has the list.</remarks>
internal static class ClientMeter
{
    public static readonly Meter Meter =
        new(ClientTelemetry.Name, typeof(ClientMeter).Assembly.GetName().Version?.ToString());

    public static readonly Counter<long> Sent = Meter.CreateCounter<long>(
        "messaging.client.sent.messages", "{message}", "Messages sent, by what became of them.");

    public static readonly Counter<long> Consumed = Meter.CreateCounter<long>(
        "messaging.client.consumed.messages", "{message}", "Messages given to the application.");

    public static readonly Histogram<double> Duration = Meter.CreateHistogram(
        "messaging.client.operation.duration",
        "s",
        "How long requests took until their answer or failure.",
        tags: null,
        new InstrumentAdvice<double>
        {
            HistogramBucketBoundaries =
                [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
        });

    public static readonly Counter<long> Retries = Meter.CreateCounter<long>(
        "equeue.client.retries", "{batch}", "Batches sent again.");

    public static readonly Counter<long> Reconnects = Meter.CreateCounter<long>(
        "equeue.client.reconnects", "{connection}", "Connections made again.");

    /// <summary>A batch was settled.</summary>
    public static void CountSent(
        ILogger logger, int messages, string topic, ServerAddress server, EQueueException? failure)
    {
        if (Sent.Enabled)
            Add(logger, Sent, messages, Tags("send", topic, group: null, server, failure));
    }

    /// <summary>The application went on from a batch.</summary>
    public static void CountConsumed(ILogger logger, long messages, string topic, string? group, ServerAddress server)
    {
        if (Consumed.Enabled)
            Add(logger, Consumed, messages, Tags("process", topic, group, server, failure: null));
    }

    /// <summary>A batch leaves again.</summary>
    public static void CountRetry(ILogger logger, string topic, ServerAddress server, EQueueException? last)
    {
        if (Retries.Enabled)
            Add(logger, Retries, 1, Tags("send", topic, group: null, server, last));
    }

    /// <summary>There is a connection again.</summary>
    public static void CountReconnect(ILogger logger, ServerAddress server)
    {
        if (!Reconnects.Enabled)
            return;
        var tags = default(TagList);
        AddServer(ref tags, server);
        Add(logger, Reconnects, 1, tags);
    }

    /// <summary>When a request leaves; 0 when it is not measured.</summary>
    public static long Begin(TimeProvider time) => Duration.Enabled ? time.GetTimestamp() : 0;

    /// <summary>A request ended.</summary>
    /// <param name="logger">Told of a listener that throws.</param>
    /// <param name="time">The clock that <paramref name="begun"/> was read from.</param>
    /// <param name="begun">What <see cref="Begin"/> said when it left.</param>
    /// <param name="operation">send, fetch or commit.</param>
    /// <param name="topic">Null when it was about several.</param>
    /// <param name="group">Null for none.</param>
    /// <param name="server">Who answered.</param>
    /// <param name="failure">Null when it was answered.</param>
    public static void RecordDuration(
        ILogger logger,
        TimeProvider time,
        long begun,
        string operation,
        string? topic,
        string? group,
        ServerAddress server,
        EQueueException? failure)
    {
        if (begun == 0)
            return;
        try
        {
            TagList tags = Tags(operation, topic, group, server, failure);
            Duration.Record(time.GetElapsedTime(begun).TotalSeconds, tags);
        }
        catch (Exception exception)
        {
            Log.ListenerThrew(logger, exception);
        }
    }

    /// <summary>The attributes that name a broker.</summary>
    public static void AddServer(ref TagList tags, ServerAddress server)
    {
        tags.Add(TelemetryTags.System, TelemetryTags.SystemValue);
        tags.Add(TelemetryTags.Host, server.Host);
        tags.Add(TelemetryTags.Port, server.Port);
    }

    private static void Add(ILogger logger, Counter<long> counter, long count, TagList tags)
    {
        try
        {
            counter.Add(count, tags);
        }
        catch (Exception exception)
        {
            Log.ListenerThrew(logger, exception);
        }
    }

    private static TagList Tags(
        string operation, string? topic, string? group, ServerAddress server, EQueueException? failure)
    {
        var tags = default(TagList);
        AddServer(ref tags, server);
        tags.Add(TelemetryTags.Operation, operation);
        tags.Add(TelemetryTags.OperationType, TypeOf(operation));
        if (topic is not null)
            tags.Add(TelemetryTags.Topic, topic);
        if (group is not null)
            tags.Add(TelemetryTags.Group, group);
        if (failure is not null)
            tags.Add(TelemetryTags.Error, failure.Code.ToString());
        return tags;
    }

    private static string TypeOf(string operation) => operation switch
    {
        "fetch" => "receive",
        "commit" => "settle",
        _ => operation,
    };
}
