namespace EQueue.Client;

/// <summary>What a thread sleeps on while it blocks in a send: one per thread, made at its first.</summary>
internal static class BlockedSender
{
    [ThreadStatic]
    private static ManualResetEventSlim? _ofThread;

    public static ManualResetEventSlim OfThread => _ofThread ??= new ManualResetEventSlim();

    /// <summary>The calling thread's next send gets another: another thread may still wake this one.</summary>
    public static void Forget() => _ofThread = null;
}
