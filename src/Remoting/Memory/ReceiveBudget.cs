namespace EQueue.Remoting;

/// <summary>Bounds the memory of receive blocks beyond each connection's first small one. Thread-safe.</summary>
/// <remarks>
/// <para>At the bound a connection keeps to its small block, and one whose frame does not fit into it waits in line for
/// as much as the whole frame takes, so that it never waits a second time. One at a time may go beyond the bound:
/// frames that came in part hold memory as well, and one of them has to come to an end. So the memory is at most the
/// bound and one frame.</para>
/// <para>Frames of at most <see cref="SmallFrameBytes"/> have a line and a sixteenth of the memory to themselves: they
/// never wait for large ones. An address that is not this machine's holds at most as much as it leaves free, and
/// addresses take turns in line.</para>
/// </remarks>
/// <param name="maxBytes">The bound.</param>
/// <param name="time">Says how long a frame waits.</param>
internal sealed class ReceiveBudget(long maxBytes, TimeProvider time)
{
    /// <summary>The largest frame that is a small one.</summary>
    public const int SmallFrameBytes = 64 * 1024;

    private const int SmallShare = 16;

    private readonly Lock _lock = new();
    private readonly ReceiveLine _small = new(isSmall: true);
    private readonly ReceiveLine _large = new(isSmall: false);
    private readonly long _largeBytes = maxBytes - (maxBytes / SmallShare);
    private long _usedBytes;
    private int _waitingCount;

    /// <summary>Bytes taken now.</summary>
    public long UsedBytes => Volatile.Read(ref _usedBytes);

    /// <summary>Connections that wait; while there are any, who can do with less should.</summary>
    public int WaitingCount => Volatile.Read(ref _waitingCount);

    /// <summary>Called when a frame begins to wait; any thread, must be quick.</summary>
    public Action? Starved { get; set; }

    /// <summary>How much frames wait for, and how long one of them has waited.</summary>
    public (long Bytes, TimeSpan Longest) Want
    {
        get
        {
            lock (_lock)
            {
                long since = Math.Min(_small.OldestSince(), _large.OldestSince());
                return (_small.WaitingBytes + _large.WaitingBytes,
                    since == long.MaxValue ? TimeSpan.Zero : time.GetElapsedTime(since));
            }
        }
    }

    /// <summary>Takes memory if there is some and no other frame of its kind waits for it.</summary>
    /// <param name="share">Whose.</param>
    /// <param name="bytes">Of the block.</param>
    /// <param name="isSmall">Whether it is for a small frame.</param>
    public bool TryTake(PeerShare share, int bytes, bool isSmall)
    {
        lock (_lock)
        {
            ReceiveLine line = LineOf(isSmall);
            if (line.Count > 0 || !Fits(isSmall, bytes) || !MayHave(share, bytes))
                return false;
            Take(line, share, bytes);
            return true;
        }
    }

    /// <summary>Takes memory for a whole frame, after all of its address who waited before.</summary>
    /// <returns>Whether it goes beyond the bound, which is said when it is given back.</returns>
    /// <exception cref="OperationCanceledException">The connection closed.</exception>
    public async Task<bool> TakeAsync(PeerShare share, int bytes, bool isSmall, CancellationToken closed)
    {
        var waiter = new ReceiveLine.Waiter(share, bytes, time.GetTimestamp());
        lock (_lock)
        {
            LineOf(isSmall).Add(waiter);
            Serve();
        }

        using CancellationTokenRegistration ending = closed.UnsafeRegister(
            static (state, token) =>
            {
                (ReceiveBudget budget, ReceiveLine.Waiter waiter, bool isSmall) =
                    ((ReceiveBudget, ReceiveLine.Waiter, bool))state!;
                budget.Leave(waiter, isSmall, token);
            },
            (this, waiter, isSmall));
        if (!waiter.Granted.Task.IsCompleted)
            Starved?.Invoke();
        return await waiter.Granted.Task.ConfigureAwait(false);
    }

    /// <summary>Gives memory back, with what was said when it was taken.</summary>
    public void Give(PeerShare share, int bytes, bool isSmall, bool isBeyond)
    {
        lock (_lock)
        {
            ReceiveLine line = LineOf(isSmall);
            _usedBytes -= bytes;
            line.UsedBytes -= bytes;
            share.ReceiveBytes -= bytes;
            if (isBeyond)
                line.IsBeyond = false;
            Serve();
        }
    }

    private void Leave(ReceiveLine.Waiter waiter, bool isSmall, CancellationToken token)
    {
        lock (_lock)
        {
            if (!LineOf(isSmall).Remove(waiter))
                return;
            Serve();
        }

        waiter.Granted.TrySetCanceled(token);
    }

    private void Serve()
    {
        if (_small.Count > 0)
            Serve(_small, isSmall: true);
        if (_large.Count > 0)
            Serve(_large, isSmall: false);
        Volatile.Write(ref _waitingCount, _small.Count + _large.Count);
    }

    private void Serve(ReceiveLine line, bool isSmall)
    {
        while (line.Next(MayHave) is { } next)
        {
            bool fits = Fits(isSmall, next.Bytes);
            if (!fits && line.IsBeyond)
                return;
            line.IsBeyond |= !fits;
            Take(line, next.Share, next.Bytes);
            line.EndTurn(next.Share);
            line.Remove(next);
            next.Granted.TrySetResult(!fits);
        }
    }

    private void Take(ReceiveLine line, PeerShare share, int bytes)
    {
        _usedBytes += bytes;
        line.UsedBytes += bytes;
        share.ReceiveBytes += bytes;
    }

    private ReceiveLine LineOf(bool isSmall) => isSmall ? _small : _large;

    /// <summary>What a large frame beyond the bound takes is not taken from small ones.</summary>
    private bool Fits(bool isSmall, int bytes) => isSmall
        ? _small.UsedBytes + bytes <= maxBytes - Math.Min(_large.UsedBytes, _largeBytes)
        : _usedBytes + bytes <= maxBytes && _large.UsedBytes + bytes <= _largeBytes;

    /// <summary>At most as much as is free then; one frame in any case.</summary>
    private bool MayHave(PeerShare share, int bytes) =>
        share.IsLocal || share.ReceiveBytes == 0 || share.ReceiveBytes + bytes <= maxBytes - _usedBytes - bytes;
}
