namespace EQueue.Remoting;

/// <summary>Where work continues that a receive loop has made ready and must not do itself, because it is an
/// application's or another connection's and may take long: usually the thread pool.</summary>
/// <remarks>At rest, waking a thread of the pool takes longer than the work. So the thread of the
/// <see cref="SocketPoller"/> that is at the socket keeps such work until its receive loop waits, has the system asked
/// about the socket, and then does it itself, if another thread is there for the sockets meanwhile. When the socket
/// gives more first, or its loop ends, the pool gets the work.</remarks>
public static class AfterReceive
{
    /// <summary>Has work done soon, on a thread where it may take long and block. Thread-safe; but who may block
    /// until the work is done, before the receive loop of the calling thread continues, gives it to the pool.</summary>
    /// <param name="work">Its <see cref="IThreadPoolWorkItem.Execute"/> is called once; what that throws ends the
    /// process, as on the pool.</param>
    /// <param name="unlessPrompt">Whether the pool gets the work when the peer's next bytes may soon be there: then the
    /// thread receives them at the same time.</param>
    public static void Queue(IThreadPoolWorkItem work, bool unlessPrompt = false)
    {
        ArgumentNullException.ThrowIfNull(work);
        if (!PollerThread.TryKeep(work, unlessPrompt))
            ThreadPool.UnsafeQueueUserWorkItem(work, preferLocal: false);
    }
}
