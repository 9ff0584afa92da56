using System.Collections.Concurrent;

namespace EQueue.Broker;

/// <summary>Bounds the memory of fetch answers that their readers have not taken yet.</summary>
/// <remarks>
/// An answer counts from when it is handed to its connection until the reader asks on, or until the connection is seen
/// to have nothing queued.
/// Above the bound answers become small instead of waiting, so that no reader starves behind another.
/// </remarks>
internal sealed class AnswerBudget(long maxBytes, ConcurrentDictionary<FetchSession, bool> sessions, TimeProvider time)
{
    /// <summary>Entry bytes of an answer while the budget is spent.</summary>
    public const int SmallAnswerBytes = 64 << 10;

    private static readonly TimeSpan SweepInterval = TimeSpan.FromMilliseconds(100);

    private long _untakenBytes;
    private long _lastSweep;

    /// <summary>What counts now.</summary>
    public long UntakenBytes => Volatile.Read(ref _untakenBytes);

    /// <summary>Entry bytes that an answer may carry now.</summary>
    public int Grant(int wantedBytes)
    {
        if (wantedBytes <= SmallAnswerBytes || Volatile.Read(ref _untakenBytes) + wantedBytes <= maxBytes)
            return wantedBytes;
        Sweep();
        return Volatile.Read(ref _untakenBytes) + wantedBytes <= maxBytes ? wantedBytes : SmallAnswerBytes;
    }

    public void Charge(FetchSession session, int bytes)
    {
        Interlocked.Add(ref session.UntakenBytes, bytes);
        Interlocked.Add(ref _untakenBytes, bytes);
    }

    public void Release(FetchSession session)
    {
        long bytes = Interlocked.Exchange(ref session.UntakenBytes, 0);
        if (bytes != 0)
            Interlocked.Add(ref _untakenBytes, -bytes);
    }

    private void Sweep()
    {
        long last = Volatile.Read(ref _lastSweep);
        long now = time.GetTimestamp();
        if (last != 0 && time.GetElapsedTime(last, now) < SweepInterval)
            return;
        if (Interlocked.CompareExchange(ref _lastSweep, now, last) != last)
            return;
        foreach (FetchSession session in sessions.Keys)
        {
            if (session.Peer.Transport.QueuedBytes == 0)
                Release(session);
        }
    }
}
