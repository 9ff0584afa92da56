namespace EQueue.Client;

/// <summary>Where the client's metrics and traces are to be had; docs/telemetry.md lists them.</summary>
public static class ClientTelemetry
{
    /// <summary>The name of the <see cref="System.Diagnostics.Metrics.Meter"/> and of the
    /// <see cref="System.Diagnostics.ActivitySource"/>.</summary>
    public const string Name = "EQueue.Client";

    /// <summary>The name of a message's property with the sender's trace context: W3C's <c>traceparent</c>.</summary>
    public const string TraceParentName = "traceparent";

    /// <summary>The name of the property with what tracing systems add to it: W3C's <c>tracestate</c>.</summary>
    public const string TraceStateName = "tracestate";
}
