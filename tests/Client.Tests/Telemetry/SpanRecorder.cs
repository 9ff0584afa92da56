using System.Collections.Concurrent;
using System.Diagnostics;

namespace EQueue.Client.Tests;

/// <summary>Listens to the client's spans, and to a source of the test's own, and keeps those that ended.</summary>
internal sealed class SpanRecorder : IDisposable
{
    public const string TestSource = "EQueue.Client.Tests";

    private readonly ActivityListener _listener;
    private readonly ConcurrentQueue<Activity> _ended = new();
    private readonly ActivitySource _source = new(TestSource);

    public SpanRecorder(ActivitySamplingResult sampling = ActivitySamplingResult.AllDataAndRecorded)
    {
        _listener = new ActivityListener
        {
            ShouldListenTo = static source => source.Name is ClientTelemetry.Name or TestSource,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => sampling,
            ActivityStopped = activity => _ended.Enqueue(activity),
        };
        ActivitySource.AddActivityListener(_listener);
    }

    /// <summary>Spans that ended, by the beginning of their name.</summary>
    public Activity[] Ended(string prefix) =>
        [.. _ended.Where(span => span.OperationName.StartsWith(prefix, StringComparison.Ordinal))];

    /// <summary>Begins a span of the application's own.</summary>
    public Activity Begin(string name) => _source.StartActivity(name)!;

    public void Dispose()
    {
        _listener.Dispose();
        _source.Dispose();
    }
}
