using System.Net.Sockets;

namespace EQueue.Remoting;

/// <content>What the server's timer and its orderly stop need to know about the connection.</content>
public sealed partial class ServerConnection
{
    private static readonly TimeSpan PausedPingInterval = TimeSpan.FromSeconds(5);

    /// <summary>How long a peer may take nothing while the memory for unsent frames is spent.</summary>
    private static readonly TimeSpan PressedSendTimeout = TimeSpan.FromSeconds(1);

    private readonly TaskCompletionSource _drained = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private long _watchedAt;
    private long _lastReceived;
    private long _lastPing;
    private long _pausedSince;
    private int _requests;
    private int _answeredByLoop;
    private int _answeredByOthers;
    private int _isHandling;
    private int _isDraining;
    private Task? _farewell;

    /// <summary>A window of the least rate, unless the idle timeout is short.</summary>
    private static readonly TimeSpan LongestWindow = TimeSpan.FromSeconds(10);

    /// <summary>Whether this end keeps the connection from being read.</summary>
    private bool IsHeldUp =>
        Volatile.Read(ref _pausedSince) != 0 || Volatile.Read(ref _isHandling) != 0 || _input.IsWaitingForMemory;

    private bool IsDraining => Volatile.Read(ref _isDraining) != 0;

    /// <summary>Requests that were handed to the handler and have no answer yet. True while the loop handles none: it
    /// counts without a fence.</summary>
    private int Unanswered => unchecked(_requests - _answeredByLoop - Volatile.Read(ref _answeredByOthers));

    /// <summary>Closes in order: handles no further frame, sends what is queued, ends the stream.</summary>
    /// <remarks>Thread-safe. The connection is gone when the peer has ended its side, or after the idle
    /// timeout.</remarks>
    public void CloseAfterFlush()
    {
        if (Interlocked.CompareExchange(ref _farewell, Task.CompletedTask, null) is null)
            Volatile.Write(ref _farewell, FarewellAsync());
    }

    /// <summary>Called by the server's timer: closes a peer that is gone or takes nothing, pings one that is
    /// silent.</summary>
    /// <param name="isPressed">Whether others have no memory for what they are to be sent: then a peer that takes
    /// nothing has less time.</param>
    internal void Watch(bool isPressed)
    {
        if (Volatile.Read(ref _isClosed) != 0 || EndUnadmitted() || !Volatile.Read(ref _isSecured))
            return;
        long ticks = _time.GetTimestamp() - _watchedAt;
        _watchedAt += ticks;
        TimeSpan stalled = _sender.StalledFor;
        bool isCut = isPressed && stalled >= PressedSendTimeout && QueuedBytes >= SendBudget.UnitBytes;
        if (isCut || stalled >= _options.SendTimeout)
        {
            Log.PeerStalled(_logger, Id, RemoteEndPoint, stalled, QueuedBytes);
            Close(new RemotingException(RemotingError.Timeout, $"The peer took nothing for {stalled}."));
        }
        else if (Volatile.Read(ref _pausedSince) != 0 || _input.IsWaitingForMemory)
        {
            // What the peer has sent is not received meanwhile: its clocks stand still.
            _partial.StandStill(ticks);
            if (_input.IsWaitingForMemory)
                Volatile.Write(ref _lastReceived, Volatile.Read(ref _lastReceived) + ticks);
            // The peer cannot know that its ping waits behind a paused handler: a sign of life tells it.
            PingEvery(PausedPingInterval);
        }
        else
        {
            WatchSilence();
        }
    }

    /// <summary>Handles no further frame. The task completes when every request that was handled has its answer
    /// queued.</summary>
    internal Task BeginDrain()
    {
        Interlocked.Exchange(ref _isDraining, 1);
        CheckDrained();
        return _drained.Task;
    }

    /// <summary>Ends the stream behind the queued answers; the loop ends when the peer ends its side.</summary>
    internal async Task FlushAndShutdownAsync()
    {
        await _sender.WhenIdle().ConfigureAwait(false);
        try
        {
            await _wire.EndSendingAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or IOException or ObjectDisposedException
            or InvalidOperationException or NotSupportedException)
        {
            Close(exception);
        }

        await _loop.ConfigureAwait(false);
    }

    private async Task FarewellAsync()
    {
        await BeginDrain().ConfigureAwait(false);
        await FlushAndShutdownAsync().ConfigureAwait(false);
    }

    private void WatchSilence()
    {
        TimeSpan silent = _time.GetElapsedTime(Volatile.Read(ref _lastReceived));
        TimeSpan window = _options.IdleTimeout / 2 < LongestWindow ? _options.IdleTimeout / 2 : LongestWindow;
        if (_partial.TakesTooLong(_options.MinReceiveRate, window, out long came))
        {
            Log.FrameBelowRate(_logger, Id, RemoteEndPoint, came, window, _options.MinReceiveRate);
            Close(new RemotingException(
                RemotingError.Timeout,
                $"{came} bytes of a frame came within {window}; {_options.MinReceiveRate} a second is the least."));
        }
        else if (_partial.Age >= _options.IdleTimeout)
        {
            Log.FrameTooSlow(_logger, Id, RemoteEndPoint, _options.IdleTimeout);
            Close(new RemotingException(
                RemotingError.Timeout, $"A frame was not whole {_options.IdleTimeout} after it began."));
        }
        else if (silent >= _options.IdleTimeout)
        {
            Log.PeerSilent(_logger, Id, RemoteEndPoint, silent);
            Close(new RemotingException(RemotingError.Timeout, $"The peer was silent for {silent}."));
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
        SendPing(0, FrameFlags.None, inline: false);
    }

    private void CountAnswer()
    {
        Interlocked.Increment(ref _answeredByOthers);
        if (IsDraining)
            CheckDrained();
    }

    private void BeginBurst()
    {
        if (_isHandling != 0)
            return;
        Interlocked.Exchange(ref _isHandling, 1);
        _sender.Cork();
    }

    private void EndBurst()
    {
        if (_isHandling == 0)
            return;
        _sender.Uncork();
        Interlocked.Exchange(ref _isHandling, 0);
        if (IsDraining)
            CheckDrained();
    }

    private void CheckDrained()
    {
        if (Volatile.Read(ref _isHandling) == 0 && Unanswered <= 0)
            _drained.TrySetResult();
    }
}
