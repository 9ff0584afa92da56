namespace EQueue.Remoting;

/// <summary>The frame of a connection that is there in part: since when, and how it comes along.</summary>
/// <remarks>The receive loop notes it; <see cref="TakesTooLong"/> is the server's timer's, <see cref="HasStalled"/> the
/// <see cref="MemoryRelief"/>'s.</remarks>
internal sealed class PartialFrame(WireReader input, TimeProvider time)
{
    private long _since;
    private long _windowSince;
    private long _windowFrame;
    private long _windowBytes;
    private long _lookedAt;
    private long _lookedBytes;
    private int _stalledLooks;

    /// <summary>Whether there is one.</summary>
    public bool IsThere => Volatile.Read(ref _since) != 0;

    /// <summary>How long its peer has had for it; zero when there is none.</summary>
    public TimeSpan Age => Volatile.Read(ref _since) is var since && since == 0 ? default : time.GetElapsedTime(since);

    /// <summary>Bytes per second since it began, roughly.</summary>
    public double Rate => input.UnreadBytes / Math.Max(Age.TotalSeconds, 0.001);

    /// <summary>What has been read is handled.</summary>
    /// <param name="isThere">Whether a part of a frame is left.</param>
    /// <param name="isNew">Whether a frame before it was handled.</param>
    public void Note(bool isThere, bool isNew)
    {
        if (!isThere)
            Volatile.Write(ref _since, 0);
        else if (isNew || _since == 0)
            Volatile.Write(ref _since, time.GetTimestamp());
    }

    /// <summary>The connection was not read for so long: the peer's time stood still.</summary>
    /// <param name="ticks">Of the clock.</param>
    public void StandStill(long ticks)
    {
        long since = Volatile.Read(ref _since);
        if (since == 0)
            return;
        _windowSince += ticks;
        if (Interlocked.CompareExchange(ref _since, since + ticks, since) == since && _windowFrame == since)
            _windowFrame += ticks;
    }

    /// <summary>Whether less than the least rate has come within a window.</summary>
    /// <param name="leastRate">Bytes per second; 0 = none.</param>
    /// <param name="window">How long a window is.</param>
    /// <param name="came">The bytes that came within it.</param>
    public bool TakesTooLong(int leastRate, TimeSpan window, out long came)
    {
        came = 0;
        long since = Volatile.Read(ref _since);
        if (since == 0 || leastRate == 0)
            return false;
        if (_windowFrame != since)
        {
            BeginWindow(since, since);
        }
        else if (time.GetElapsedTime(_windowSince) >= window)
        {
            came = input.ReceivedBytes - _windowBytes;
            if (came < leastRate * window.TotalSeconds && !input.HasArrived)
                return true;
            BeginWindow(since, time.GetTimestamp());
        }

        return false;
    }

    /// <summary>Whether next to nothing has come since the last two looks.</summary>
    /// <param name="leastRate">Bytes per second.</param>
    public bool HasStalled(int leastRate)
    {
        long now = time.GetTimestamp();
        long bytes = input.ReceivedBytes;
        double seconds = time.GetElapsedTime(_lookedAt, now).TotalSeconds;
        bool isSlow = _lookedAt != 0 && bytes - _lookedBytes < leastRate * seconds && !input.HasArrived;
        _stalledLooks = isSlow ? _stalledLooks + 1 : 0;
        (_lookedAt, _lookedBytes) = (now, bytes);
        return _stalledLooks >= 2;
    }

    private void BeginWindow(long frame, long from) =>
        (_windowFrame, _windowSince, _windowBytes) = (frame, from, input.ReceivedBytes);
}
