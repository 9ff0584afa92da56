using System.Diagnostics;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>The client's spans: one for each batch that leaves and one for each that is handed out.</summary>
/// <remarks>No span becomes the application's current activity: a batch serves many sends, a loop many awaits. A
/// listener that throws is logged and holds nothing up.</remarks>
internal static class ClientTrace
{
    /// <summary>Contexts that one span refers to at most.</summary>
    public const int MaxContexts = 128;

    private static readonly ActivitySource Source =
        new(ClientTelemetry.Name, typeof(ClientTrace).Assembly.GetName().Version?.ToString());

    /// <summary>Whether there is a listener: without one, this check is the whole cost.</summary>
    public static bool IsListenedTo => Source.HasListeners();

    /// <summary>Begins the span of a batch that leaves for the first time; null when it is not sampled.</summary>
    public static Activity? StartSend(
        ILogger logger, string topic, int queue, int messages, List<ActivityContext>? contexts, ServerAddress server)
    {
        if (!IsListenedTo)
            return null;
        List<KeyValuePair<string, object?>> tags = Tags("send", topic, queue, server);
        tags.Add(new(TelemetryTags.MessageCount, messages));
        return contexts switch
        {
            { Count: 1 } => Start(logger, $"send {topic}", ActivityKind.Producer, contexts[0], tags, null),
            { Count: > 1 } => Start(logger, $"send {topic}", ActivityKind.Producer, default, tags, contexts),
            _ => Start(logger, $"send {topic}", ActivityKind.Producer, default, tags, null),
        };
    }

    /// <summary>Ends it: the batch is settled.</summary>
    public static void EndSend(ILogger logger, Activity span, int attempts, EQueueException? failure)
    {
        span.SetTag(TelemetryTags.Attempts, attempts);
        if (failure is not null)
        {
            span.SetTag(TelemetryTags.Error, failure.Code.ToString());
            span.SetStatus(ActivityStatusCode.Error, failure.Message);
        }

        Stop(logger, span);
    }

    /// <summary>Begins the span of a batch that is handed out; null when it is not sampled.</summary>
    public static Activity? StartProcess(
        ILogger logger,
        string topic,
        int queue,
        string? group,
        List<ActivityContext>? contexts,
        ServerAddress server)
    {
        List<KeyValuePair<string, object?>> tags = Tags("process", topic, queue, server);
        if (group is not null)
            tags.Add(new(TelemetryTags.Group, group));
        return Start(logger, $"process {topic}", ActivityKind.Consumer, default, tags, contexts);
    }

    /// <summary>Ends it: the application has gone on.</summary>
    public static void EndProcess(ILogger logger, Activity span, long messages)
    {
        span.SetTag(TelemetryTags.MessageCount, messages);
        Stop(logger, span);
    }

    /// <summary>Takes a context up, unless it is the last one or there are enough.</summary>
    public static void Add(ref List<ActivityContext>? contexts, in ActivityContext context)
    {
        contexts ??= [];
        if (contexts.Count < MaxContexts && (contexts.Count == 0 || contexts[^1].SpanId != context.SpanId))
            contexts.Add(context);
    }

    private static Activity? Start(
        ILogger logger,
        string name,
        ActivityKind kind,
        ActivityContext parent,
        List<KeyValuePair<string, object?>> tags,
        List<ActivityContext>? contexts)
    {
        Activity? current = Activity.Current;
        Activity.Current = null;
        try
        {
            ActivityLink[]? links = contexts?.Select(static context => new ActivityLink(context)).ToArray();
            return Source.CreateActivity(name, kind, parent, tags, links, ActivityIdFormat.W3C)?.Start();
        }
        catch (Exception exception)
        {
            Log.ListenerThrew(logger, exception);
            return null;
        }
        finally
        {
            Activity.Current = current;
        }
    }

    private static void Stop(ILogger logger, Activity span)
    {
        Activity? current = Activity.Current;
        try
        {
            span.Stop();
        }
        catch (Exception exception)
        {
            Log.ListenerThrew(logger, exception);
        }
        finally
        {
            Activity.Current = current;
        }
    }

    private static List<KeyValuePair<string, object?>> Tags(
        string operation, string topic, int queue, ServerAddress server) =>
    [
        new(TelemetryTags.System, TelemetryTags.SystemValue),
        new(TelemetryTags.Operation, operation),
        new(TelemetryTags.OperationType, operation),
        new(TelemetryTags.Topic, topic),
        new(TelemetryTags.Queue, queue.ToString(System.Globalization.CultureInfo.InvariantCulture)),
        new(TelemetryTags.Host, server.Host),
        new(TelemetryTags.Port, server.Port),
    ];
}
