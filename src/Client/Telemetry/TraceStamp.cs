using System.Diagnostics;
using System.Text;

namespace EQueue.Client;

/// <summary>Writes the context of the sender's activity into a message's properties.</summary>
internal static class TraceStamp
{
    /// <summary>The most characters of a tracestate that W3C asks everybody to pass on; a longer one is left
    /// out.</summary>
    private const int MostStateLength = 512;

    private const int ParentLength = 55;

    [ThreadStatic]
    private static RecordProperties? _scratch;

    /// <summary>The activity whose context messages are to carry now; null when there is none or it is not
    /// sampled.</summary>
    public static Activity? Sampled =>
        Activity.Current is { Recorded: true, IdFormat: ActivityIdFormat.W3C } activity ? activity : null;

    /// <summary>Bytes that a record grows by at most.</summary>
    public static int MostBytes(Activity activity) =>
        ParentLength + ClientTelemetry.TraceParentName.Length + 16
        + (StateOf(activity) is { } state ? (3 * state.Length) + ClientTelemetry.TraceStateName.Length + 16 : 0);

    /// <summary>The properties with the context behind them, in memory of this thread: valid until the next
    /// call.</summary>
    /// <param name="own">What the sender gave; has no trace context.</param>
    /// <param name="activity">Of <see cref="Sampled"/>.</param>
    public static RecordProperties Stamp(RecordProperties? own, Activity activity)
    {
        RecordProperties stamped = _scratch ??= new RecordProperties();
        stamped.Clear();
        if (own is not null)
            stamped.Add(own);
        Span<byte> parent = stackalloc byte[ParentLength];
        stamped.Add(ClientTelemetry.TraceParentName, new OptionalBytes(
            parent[..Encoding.ASCII.GetBytes(activity.Id, parent)]));
        if (StateOf(activity) is { } state)
        {
            Span<byte> bytes = stackalloc byte[3 * MostStateLength];
            stamped.Add(ClientTelemetry.TraceStateName, new OptionalBytes(
                bytes[..Encoding.UTF8.GetBytes(state, bytes)]));
        }

        return stamped;
    }

    private static string? StateOf(Activity activity) =>
        activity.TraceStateString is { Length: > 0 and <= MostStateLength } state ? state : null;
}
