using System.Diagnostics;

namespace EQueue.Remoting;

/// <summary>Learns whether a peer sends at once, as in calls one after the other, and then waits for it a moment
/// without letting go of the thread: to sleep and be woken takes longer than such a peer.</summary>
/// <remarks>Of one reader. One thread of the process spins at a time. A peer must have been prompt many times more than
/// it was not: the pauses of a stream are short now and then, and there is other work for the thread. After a spin in
/// vain it must be for longer, each time twice as often.</remarks>
internal struct PromptPeer
{
    private const int LeastTimes = 32;
    private const int MostTimes = 128;

    /// <summary>What one late answer takes of the times that it was prompt: some are late on every machine.</summary>
    private const int LateTimes = 8;

    private static readonly TimeSpan Prompt = TimeSpan.FromMicroseconds(100);
    private static readonly TimeSpan LongestSpin = TimeSpan.FromMicroseconds(50);
    private static int _spinning;

    private int _needed;
    private int _times;

    /// <summary>Notes how long the last wait took.</summary>
    public void Note(TimeSpan waited) =>
        _times = waited < Prompt ? Math.Min(_times + 1, MostTimes) : Math.Max(_times - LateTimes, 0);

    /// <summary>Waits a moment for bytes of a peer that is prompt.</summary>
    /// <param name="wire">A bare socket.</param>
    /// <returns>Whether they are there; if not, they or the end are to be waited for in the usual way.</returns>
    public bool Spin(Wire wire)
    {
        if (_times < Math.Max(_needed, LeastTimes) || Environment.ProcessorCount == 1)
            return false;
        if (Interlocked.CompareExchange(ref _spinning, 1, 0) != 0)
            return false;
        bool isThere;
        try
        {
            isThere = Spin(wire, Stopwatch.GetTimestamp());
        }
        finally
        {
            // Another thread may close the socket meanwhile.
            Volatile.Write(ref _spinning, 0);
        }

        _needed = isThere ? LeastTimes : Math.Min(Math.Max(_needed, LeastTimes) * 2, MostTimes);
        if (!isThere)
            _times = 0;
        return isThere;
    }

    private static bool Spin(Wire wire, long began)
    {
        do
        {
            if (wire.Available > 0)
                return true;
            Thread.SpinWait(10);
        }
        while (Stopwatch.GetElapsedTime(began) < LongestSpin);
        return false;
    }
}
