using EQueue.Load.Limit;
using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>
/// Tells when each of a row of events is due, at an even rate, and waits for it. A late event does not move those after
/// it: a measurement from the due time does not leave out what a stall held back (coordinated omission).
/// </summary>
/// <remarks>One thread, the one that made it.</remarks>
internal sealed class Pacer
{
    private readonly long _startNs;
    private readonly double _intervalNs;
    private readonly long _endNs;
    private long _count;

    public Pacer(double ratePerSecond, double seconds)
    {
        LinuxCalls.SharpenTimer();
        _intervalNs = 1e9 / ratePerSecond;
        _startNs = Clock.NowNs;
        _endNs = _startNs + (long)(seconds * 1e9);
    }

    /// <summary>Waits until the next event is due; false when the time is over.</summary>
    public bool WaitForNext(out long dueNs)
    {
        dueNs = _startNs + (long)(_count * _intervalNs);
        if (dueNs >= _endNs)
            return false;
        _count++;
        for (long waitNs = dueNs - Clock.NowNs; waitNs > 0; waitNs = dueNs - Clock.NowNs)
            LinuxCalls.Wait(waitNs);
        return true;
    }
}
