namespace EQueue.Client;

/// <summary>Ends what is disposed by a thread that cannot await.</summary>
internal static class Blocking
{
    /// <summary>Blocks until the work is done. It runs on the thread pool: a caller whose synchronization context has
    /// one thread, this one, does not wait for itself.</summary>
    public static void Wait(Func<ValueTask> work) => Task.Run(() => work().AsTask()).GetAwaiter().GetResult();
}
