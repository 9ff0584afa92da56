namespace EQueue.Cli.Output;

/// <summary>Says on standard error, while a command waits for a broker, why it cannot be reached.
/// Thread-safe.</summary>
/// <param name="error">Where it is said.</param>
/// <param name="time">The clock.</param>
internal sealed class ConnectRemarks(TextWriter error, TimeProvider time)
{
    /// <summary>Several clients of one command may ask one broker: the same is said once within this time.</summary>
    private static readonly TimeSpan Repeat = TimeSpan.FromSeconds(5);

    private readonly Lock _gate = new();
    private readonly Dictionary<string, (string Reason, long At)> _said = new(StringComparer.Ordinal);

    public void Tell(ConnectFailure failure)
    {
        lock (_gate)
        {
            bool isSaid = _said.TryGetValue(failure.Address, out (string Reason, long At) last)
                && last.Reason == failure.Reason && time.GetElapsedTime(last.At) < Repeat;
            if (isSaid)
                return;
            _said[failure.Address] = (failure.Reason, time.GetTimestamp());
            error.WriteLine($"equeue: {failure.Address}: {failure.Reason}; still trying");
        }
    }
}
