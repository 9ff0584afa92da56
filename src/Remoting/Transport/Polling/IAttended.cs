namespace EQueue.Remoting;

/// <summary>What has something to send at the socket at which a poller's thread is: the thread sends it while it is
/// there.</summary>
internal interface IAttended
{
    /// <summary>The calling thread sends what is queued from now on.</summary>
    void Attend();

    /// <summary>Sends a piece of what is queued by now, on this thread.</summary>
    /// <returns>Whether there was something to send, and no other thread at it.</returns>
    bool TrySendAttended();

    /// <summary>The calling thread has left the socket: other threads send what is queued.</summary>
    void Leave();
}
