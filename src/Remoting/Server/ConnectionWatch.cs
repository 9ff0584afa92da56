namespace EQueue.Remoting;

/// <summary>What the server's timer looks at: whether a connection's peer takes what it is sent, sends what it has
/// begun, and is there at all.</summary>
/// <remarks>The receive loop notes what comes; <see cref="Look"/> is the timer's.</remarks>
/// <param name="connection">Whose it is.</param>
/// <param name="input">What comes.</param>
/// <param name="sender">What leaves.</param>
/// <param name="terms">The server's.</param>
internal sealed class ConnectionWatch(
    Connection connection, WireReader input, FrameSender sender, ConnectionTerms terms)
{
    private static readonly TimeSpan PausedPingInterval = TimeSpan.FromSeconds(5);

    /// <summary>How long a peer may take nothing while the memory for unsent frames is spent.</summary>
    private static readonly TimeSpan PressedSendTimeout = TimeSpan.FromSeconds(1);

    /// <summary>A window of the least rate, unless the idle timeout is short.</summary>
    private static readonly TimeSpan LongestWindow = TimeSpan.FromSeconds(10);

    private readonly TimeProvider _time = terms.Time;
    private readonly RemotingServerOptions _options = terms.Options;
    private long _watchedAt = terms.Time.GetTimestamp();
    private long _lastReceived = terms.Time.GetTimestamp();
    private long _lastPing;
    private long _pausedSince;
    private bool _hasBegun;

    /// <summary>The frame that is there in part.</summary>
    public PartialFrame Partial { get; } = new(input, terms.Time);

    /// <summary>Whether this end keeps the connection from being read.</summary>
    public bool IsHeldUp => Volatile.Read(ref _pausedSince) != 0 || input.IsWaitingForMemory;

    /// <summary>Frames may come from here on.</summary>
    public void Begin()
    {
        NoteReceived();
        Volatile.Write(ref _hasBegun, true);
    }

    /// <summary>Something has come.</summary>
    public void NoteReceived() => Volatile.Write(ref _lastReceived, _time.GetTimestamp());

    /// <summary>Nothing is read from here on, for a reason of this end.</summary>
    public void Pause() => Volatile.Write(ref _pausedSince, _time.GetTimestamp());

    /// <summary>The connection is read again.</summary>
    public void Resume()
    {
        NoteReceived();
        Volatile.Write(ref _pausedSince, 0);
    }

    /// <summary>Closes a peer that is gone or takes nothing, pings one that is silent.</summary>
    /// <param name="isPressed">Whether others have no memory for what they are to be sent: then a peer that takes
    /// nothing has less time.</param>
    public void Look(bool isPressed)
    {
        if (!Volatile.Read(ref _hasBegun))
            return;
        long ticks = _time.GetTimestamp() - _watchedAt;
        _watchedAt += ticks;
        TimeSpan stalled = sender.StalledFor;
        bool isCut = isPressed && stalled >= PressedSendTimeout && sender.QueuedBytes >= SendBudget.UnitBytes;
        if (isCut || stalled >= _options.SendTimeout)
        {
            Log.PeerStalled(
                terms.Logger, connection.Id, connection.RemoteEndPoint, stalled, connection.QueuedBytes);
            Close($"The peer took nothing for {stalled}.");
        }
        else if (IsHeldUp)
        {
            // What the peer has sent is not received meanwhile: its clocks stand still.
            Partial.StandStill(ticks);
            if (input.IsWaitingForMemory)
                Volatile.Write(ref _lastReceived, Volatile.Read(ref _lastReceived) + ticks);
            // The peer cannot know that its ping waits behind a paused handler: a sign of life tells it.
            PingEvery(PausedPingInterval);
        }
        else
        {
            LookAtSilence();
        }
    }

    private void LookAtSilence()
    {
        TimeSpan silent = _time.GetElapsedTime(Volatile.Read(ref _lastReceived));
        TimeSpan window = _options.IdleTimeout / 2 < LongestWindow ? _options.IdleTimeout / 2 : LongestWindow;
        if (Partial.TakesTooLong(_options.MinReceiveRate, window, out long came))
        {
            Log.FrameBelowRate(
                terms.Logger, connection.Id, connection.RemoteEndPoint, came, window, _options.MinReceiveRate);
            Close($"{came} bytes of a frame came within {window}; {_options.MinReceiveRate} a second is the least.");
        }
        else if (Partial.Age >= _options.IdleTimeout)
        {
            Log.FrameTooSlow(terms.Logger, connection.Id, connection.RemoteEndPoint, _options.IdleTimeout);
            Close($"A frame was not whole {_options.IdleTimeout} after it began.");
        }
        else if (silent >= _options.IdleTimeout)
        {
            Log.PeerSilent(terms.Logger, connection.Id, connection.RemoteEndPoint, silent);
            Close($"The peer was silent for {silent}.");
        }
        else if (silent >= _options.IdleTimeout / 2)
        {
            PingEvery(_options.IdleTimeout / 2);
        }
    }

    private void PingEvery(TimeSpan interval)
    {
        if (_lastPing != 0 && _time.GetElapsedTime(_lastPing) < interval)
            return;
        _lastPing = _time.GetTimestamp();
        connection.SendSignOfLife();
    }

    private void Close(string reason) =>
        connection.Close(new RemotingException(RemotingError.Timeout, reason));
}
