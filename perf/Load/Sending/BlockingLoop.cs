namespace EQueue.Load.Sending;

/// <summary>Runs a loop that blocks on a thread of its own, so that the pool stays free.</summary>
internal static class BlockingLoop
{
    public static Task RunAsync(Action loop) => Task.Factory.StartNew(
        loop, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
}
