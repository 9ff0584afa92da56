namespace EQueue.Server.Services;

/// <summary>Where the start and the stop of a Windows service stand, and who has to be asked for more time.</summary>
/// <remarks>
/// Knows nothing of Windows: <see cref="WindowsLifetime"/> calls it, on the threads of the service control manager and
/// of the host. A start is pending until the server serves or has failed; what is pending asks for more time again and
/// again, so that a long recovery or drain is not taken for a hanging one.
/// </remarks>
internal sealed class ServiceStages(TimeProvider time, Action<TimeSpan> askForTime) : IDisposable
{
    /// <summary>How much longer than now a start or a stop may take, unless it is said again.</summary>
    public static readonly TimeSpan Extension = TimeSpan.FromSeconds(60);

    /// <summary>How often it is said again.</summary>
    public static readonly TimeSpan ExtensionInterval = TimeSpan.FromSeconds(15);

    private readonly ManualResetEventSlim _isDecided = new();
    private int _stage;

    private enum Stage
    {
        Starting = 0,
        Serving = 1,
        Failed = 2,
    }

    /// <summary>The server serves.</summary>
    public void Serve() => Decide(Stage.Serving);

    /// <summary>The server ends; if it did not serve before, its start has failed.</summary>
    public void End() => Decide(Stage.Failed);

    /// <summary>Waits until the start has succeeded or failed, asking for time meanwhile.</summary>
    /// <returns>Whether the server serves, or has served.</returns>
    public bool WaitForStart()
    {
        using (Pend())
            _isDecided.Wait();
        return (Stage)Volatile.Read(ref _stage) == Stage.Serving;
    }

    /// <summary>Asks for time now and then again and again until it is disposed.</summary>
    public IDisposable Pend()
    {
        askForTime(Extension);
        return time.CreateTimer(_ => askForTime(Extension), null, ExtensionInterval, ExtensionInterval);
    }

    public void Dispose() => _isDecided.Dispose();

    private void Decide(Stage stage)
    {
        if (Interlocked.CompareExchange(ref _stage, (int)stage, (int)Stage.Starting) == (int)Stage.Starting)
            _isDecided.Set();
    }
}
