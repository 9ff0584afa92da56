using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Reads a wire straight into large pinned blocks: no task between it and the parser.</summary>
/// <remarks>
/// <para>Owned by one receive loop. What it shows is always one contiguous piece of one block; a partial frame at a
/// block's end is moved to the next block. A quiet connection receives into a small block. One that has just received
/// more than that waits without a block, by a receive of no bytes, and takes a large one when something is there. So
/// does one over TLS at all times: then TLS keeps no buffer either.</para>
/// <para>A pending read ends when bytes come, the peer ends the stream or the wire is aborted; it cannot be cancelled
/// alone.</para>
/// </remarks>
internal sealed class WireReader : PipeReader
{
    private const int SmallBlockBytes = 4 * 1024;
    private const int LargestRememberedFrameBytes = 4 * 1024 * 1024;
    private const int GrowthFactor = 4;

    private readonly Wire _wire;
    private readonly int _blockBytes;
    private readonly ReceiveBudget? _budget;
    private readonly PeerShare? _share;
    private readonly CancellationToken _closed;
    private ReceiveBlock? _block;
    private int _takenBytes;
    private bool _isTakenSmall;
    private bool _isBeyond;
    private long _receivedBytes;
    private bool _isWaitingForMemory;
    private int _recentLargestBytes;
    private int _start;
    private int _end;
    private int _examined;
    private bool _isAtEnd;
    private bool _isBusy;

    /// <param name="wire">Connected; aborted by its owner, which ends a pending read with an exception.</param>
    /// <param name="blockBytes">The size of a large block; a single larger frame gets a larger one.</param>
    /// <param name="budget">Of the memory beyond the small block; null = none.</param>
    /// <param name="share">Of the peer's address, in the budget.</param>
    /// <param name="closed">Ends a wait for that memory.</param>
    public WireReader(
        Wire wire,
        int blockBytes,
        ReceiveBudget? budget = null,
        PeerShare? share = null,
        CancellationToken closed = default)
    {
        _wire = wire;
        _blockBytes = blockBytes;
        _budget = budget;
        _share = share;
        _closed = closed;
    }

    /// <summary>Whether a frame waits for memory to come into.</summary>
    public bool IsWaitingForMemory => Volatile.Read(ref _isWaitingForMemory);

    /// <summary>Memory of the budget that it holds. Any thread.</summary>
    public int HeldBytes => Volatile.Read(ref _takenBytes);

    /// <summary>Bytes that have come over the wire. Any thread.</summary>
    public long ReceivedBytes => Volatile.Read(ref _receivedBytes);

    /// <summary>Bytes that were received and not read, roughly, for any thread.</summary>
    public int UnreadBytes => Math.Max(0, Volatile.Read(ref _end) - Volatile.Read(ref _start));

    /// <summary>Whether bytes wait in the system for this end to receive them. Any thread.</summary>
    public bool HasArrived => _wire.HasArrived;

    /// <summary>Leases a frame that was shown by the last read and is not yet consumed.</summary>
    /// <param name="at">Where it begins in what was shown.</param>
    public ResponseFrame Lease(int at) => _block!.Lease(_start + at);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_block is null)
            return;
        int start = IndexOf(consumed);
        int seen = IndexOf(examined);
        if (start < _start || start > _end || seen < start || seen > _end)
            throw new ArgumentOutOfRangeException(nameof(consumed), "Positions must lie in the last read's buffer.");

        _start = start;
        _examined = seen;
        if (_start == _end && _block.IsUnshared)
            Restart();
    }

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        bool hasNews = _examined < _end || _isAtEnd;
        result = hasNews ? Current() : default;
        return hasNews;
    }

    /// <inheritdoc/>
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) =>
        TryRead(out ReadResult result) ? new(result) : ReceiveAsync(1, cancellationToken);

    /// <inheritdoc/>
    public override void CancelPendingRead() =>
        throw new NotSupportedException("Abort the wire: a pending receive cannot be cancelled alone.");

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null)
    {
        ReleaseBlock();
        _isAtEnd = true;
        _start = _end = _examined = 0;
    }

    /// <inheritdoc/>
    protected override ValueTask<ReadResult> ReadAtLeastAsyncCore(
        int minimumSize, CancellationToken cancellationToken) =>
        _isAtEnd || (_end - _start >= minimumSize && _examined < _end)
            ? new(Current())
            : ReceiveAsync(minimumSize, cancellationToken);

    /// <summary>The index in the block; the sequence marks the end position of an array by its sign bit.</summary>
    private static int IndexOf(SequencePosition position) => position.GetInteger() & int.MaxValue;

    private ReadResult Current() => new(
        _block is null ? ReadOnlySequence<byte>.Empty : new(_block.Array, _start, _end - _start),
        isCanceled: false,
        _isAtEnd);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> ReceiveAsync(int minimumSize, CancellationToken cancellationToken)
    {
        int shown = _end - _start;
        do
        {
            if (_start == _end && _block is null or { IsUnshared: true })
            {
                if (_isBusy && _wire.IsBare && TryReceiveNow())
                    continue;
                if (_isBusy || !_wire.IsBare)
                {
                    ValueTask<int> news = _wire.ReceiveAsync(Memory<byte>.Empty, cancellationToken);
                    if (!news.IsCompleted)
                        ReleaseBlock();
                    await news.ConfigureAwait(false);
                    if (_wire.IsBare)
                    {
                        if (TryReceiveNow())
                            continue;

                        // It may end for nothing; then a small block is enough to wait with.
                        _isBusy = false;
                    }
                }

                BeginBlock();
            }
            else if (!TryMakeRoom(minimumSize))
            {
                await WaitForRoomAsync(minimumSize).ConfigureAwait(false);
            }

            Memory<byte> room = _block!.Array.AsMemory(_end);

            // Memory beyond the bound is for one frame: it is given back as soon as that has been read.
            if (_isBeyond)
                room = room[..Math.Min(room.Length, minimumSize - (_end - _start))];
            NoteReceived(await _wire.ReceiveAsync(room, cancellationToken).ConfigureAwait(false));
        }
        while (!_isAtEnd && _end - _start < Math.Max(minimumSize, shown + 1));

        _recentLargestBytes = Math.Max(_recentLargestBytes, Math.Min(_end - _start, LargestRememberedFrameBytes));
        return Current();
    }

    /// <summary>A busy connection looks whether something is there before it waits without a block.</summary>
    private bool TryReceiveNow()
    {
        BeginBlock();
        int received = _wire.TryReceive(_block!.Array);
        if (received < 0)
            return false;
        NoteReceived(received);
        return true;
    }

    private void NoteReceived(int received)
    {
        _isBusy = received >= SmallBlockBytes;
        _isAtEnd = received == 0;
        _end += received;
        Volatile.Write(ref _receivedBytes, _receivedBytes + received);
    }

    /// <summary>Nothing is unread: takes a block for what comes next.</summary>
    private void BeginBlock()
    {
        if (_isBeyond || _budget is { WaitingCount: > 0 })
            ReleaseBlock();
        int wanted = _isBusy ? Math.Max(_blockBytes, _recentLargestBytes) : SmallBlockBytes;
        int heldBytes = _block?.Array.Length ?? 0;
        if (heldBytes < wanted || heldBytes > wanted * 2L)
        {
            if (_isBusy)
                _recentLargestBytes -= _recentLargestBytes / 16;
            ReleaseBlock();
            if (!TryTakeBlock(wanted))
                TryTakeBlock(SmallBlockBytes);
        }

        Restart();
    }

    /// <summary>
    /// Makes room for at least one more byte of a frame of <paramref name="minimumSize"/> bytes. A block grows step
    /// by step with what really arrived, so that a length alone causes no large allocation.
    /// </summary>
    /// <returns>False when there is no memory for the frame now.</returns>
    private bool TryMakeRoom(int minimumSize)
    {
        int unread = _end - _start;
        int held = _block!.Array.Length;
        int room = held - _end;
        bool fits = _start + (long)minimumSize <= held;
        if (room > 0 && fits && (room >= held / 8 || unread > 0))
            return true;

        // A system call, and on a socket that is being filled a wait: only where the answer matters.
        int arrived = held < _blockBytes ? unread + _wire.Available : held;
        int wanted = Math.Min(minimumSize, Math.Max(unread, SmallBlockBytes) * GrowthFactor);
        wanted = Math.Max(Math.Max(wanted, unread + 1), Math.Min(Math.Max(arrived, held), _blockBytes));
        if (_block.IsUnshared && wanted <= held)
        {
            if (_start > 0)
                MoveToFront();
            return true;
        }

        bool isSmall = minimumSize <= ReceiveBudget.SmallFrameBytes;
        if (TryMoveToNextBlock(Math.Max(wanted, _recentLargestBytes), isSmall))
            return true;
        if (!_block.IsUnshared || minimumSize > held)
            return false;
        MoveToFront();
        return true;
    }

    private async Task WaitForRoomAsync(int frameBytes)
    {
        Volatile.Write(ref _isWaitingForMemory, true);
        int bytes = ReceiveBlock.CapacityOf(frameBytes);
        bool isSmall = frameBytes <= ReceiveBudget.SmallFrameBytes;
        bool isBeyond = await _budget!.TakeAsync(_share!, bytes, isSmall, _closed).ConfigureAwait(false);
        Volatile.Write(ref _isWaitingForMemory, false);
        MoveTo(ReceiveBlock.Rent(frameBytes), bytes, isSmall, isBeyond);
    }

    private bool TryMoveToNextBlock(int bytes, bool isSmall)
    {
        int capacity = ReceiveBlock.CapacityOf(bytes);
        isSmall &= capacity <= ReceiveBudget.SmallFrameBytes;
        if (_budget is not null && !_budget.TryTake(_share!, capacity, isSmall))
            return false;
        MoveTo(ReceiveBlock.Rent(bytes), capacity, isSmall, isBeyond: false);
        return true;
    }

    private void MoveTo(ReceiveBlock next, int takenBytes, bool isSmall, bool isBeyond)
    {
        int unread = _end - _start;
        _block!.Array.AsSpan(_start, unread).CopyTo(next.Array);
        ReleaseBlock();
        (_block, _takenBytes, _isTakenSmall, _isBeyond) = (next, takenBytes, isSmall, isBeyond);
        _recentLargestBytes /= 2;
        Rebase(unread);
    }

    private void MoveToFront()
    {
        int unread = _end - _start;
        _block!.Array.AsSpan(_start, unread).CopyTo(_block.Array);
        _block.Restart();
        Rebase(unread);
    }

    private void Rebase(int unread)
    {
        _examined -= _start;
        _start = 0;
        _end = unread;
    }

    private bool TryTakeBlock(int bytes)
    {
        int taken = bytes > SmallBlockBytes ? ReceiveBlock.CapacityOf(bytes) : 0;
        if (taken > 0 && _budget is not null && !_budget.TryTake(_share!, taken, isSmall: false))
            return false;
        _block = ReceiveBlock.Rent(bytes);
        (_takenBytes, _isTakenSmall) = (taken, false);
        return true;
    }

    private void ReleaseBlock()
    {
        _block?.Release();
        _block = null;
        if (_takenBytes > 0)
            _budget?.Give(_share!, _takenBytes, _isTakenSmall, _isBeyond);
        _takenBytes = 0;
        _isBeyond = false;
    }

    private void Restart()
    {
        _block!.Restart();
        _start = _end = _examined = 0;
    }
}
