using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Reads a socket straight into large pinned blocks: no task between the socket and whoever
/// parses.</summary>
/// <remarks>
/// <para>Owned by one receive loop. What it shows is always one contiguous piece of one block; a partial frame at a
/// block's end is moved to the next block. Block sizes follow what arrives: an idle connection holds a small
/// one.</para>
/// <para>A pending read ends when bytes come, the peer ends the stream or the socket is closed; it cannot be
/// cancelled alone.</para>
/// </remarks>
internal sealed class SocketPipeReader : PipeReader
{
    private const int FirstBlockBytes = 16 * 1024;
    private const int LargestRememberedFrameBytes = 4 * 1024 * 1024;
    private const int GrowthFactor = 4;

    private readonly Socket _socket;
    private readonly int _maxBlockBytes;
    private ReceiveBlock? _block;
    private int _blockBytes;
    private int _recentLargestBytes;
    private int _start;
    private int _end;
    private int _examined;
    private bool _isAtEnd;

    /// <param name="socket">Connected; closed by its owner, which ends a pending read with an exception.</param>
    /// <param name="blockBytes">The size to which blocks grow under load; a single larger frame gets a larger
    /// block.</param>
    public SocketPipeReader(Socket socket, int blockBytes)
    {
        _socket = socket;
        _maxBlockBytes = blockBytes;
        _blockBytes = Math.Min(FirstBlockBytes, blockBytes);
    }

    /// <summary>Leases bytes that were shown by the last read and are not yet consumed.</summary>
    public ResponseFrame Lease(FrameHeader header, ReadOnlySequence<byte> payload) =>
        _block!.Lease(header, IndexOf(payload.Start), (int)payload.Length);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_block is null) return;
        int start = IndexOf(consumed);
        int seen = IndexOf(examined);
        if (start < _start || start > _end || seen < start || seen > _end)
            throw new ArgumentOutOfRangeException(nameof(consumed), "Positions must lie in the last read's buffer.");

        _start = start;
        _examined = seen;
        if (_start == _end && _block.IsUnshared) Restart();
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
        throw new NotSupportedException("Close the socket: a pending receive cannot be cancelled alone.");

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null)
    {
        _block?.Release();
        _block = null;
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
            EnsureRoom(minimumSize);
            Memory<byte> room = _block!.Array.AsMemory(_end);
            int received = await _socket.ReceiveAsync(room, SocketFlags.None, cancellationToken).ConfigureAwait(false);
            _isAtEnd = received == 0;
            _end += received;
            if (received == room.Length) _blockBytes = Math.Min(_blockBytes * GrowthFactor, _maxBlockBytes);
        }
        while (!_isAtEnd && _end - _start < Math.Max(minimumSize, shown + 1));

        _recentLargestBytes = Math.Max(_recentLargestBytes, Math.Min(_end - _start, LargestRememberedFrameBytes));
        return Current();
    }

    /// <summary>
    /// Makes room for at least one more byte of a frame of <paramref name="minimumSize"/> bytes. A block grows step
    /// by step with what really arrived, so that a length alone makes nobody allocate much.
    /// </summary>
    private void EnsureRoom(int minimumSize)
    {
        if (_block is null)
        {
            _block = ReceiveBlock.Rent(_blockBytes);
            _start = _end = _examined = 0;
            return;
        }

        int unread = _end - _start;
        int room = _block.Array.Length - _end;
        bool fits = _start + (long)minimumSize <= _block.Array.Length;
        if (room > 0 && fits && (room >= _block.Array.Length / 8 || unread > 0)) return;

        int wanted = Math.Max(_blockBytes, Math.Min(minimumSize, Math.Max(unread, _blockBytes) * GrowthFactor));
        wanted = Math.Max(wanted, unread + 1);
        if (_block.IsUnshared && wanted <= _block.Array.Length && _start > 0)
        {
            _block.Array.AsSpan(_start, unread).CopyTo(_block.Array);
            _block.Restart();
        }
        else
        {
            MoveToNextBlock(Math.Max(wanted, _recentLargestBytes), unread);
        }

        _examined -= _start;
        _start = 0;
        _end = unread;
    }

    private void MoveToNextBlock(int bytes, int unread)
    {
        ReceiveBlock next = ReceiveBlock.Rent(bytes);
        _block!.Array.AsSpan(_start, unread).CopyTo(next.Array);
        _block.Release();
        _block = next;
        _recentLargestBytes /= 2;
    }

    private void Restart()
    {
        _block!.Restart();
        _start = _end = _examined = 0;
        int keptBytes = _block.Array.Length;
        if (keptBytes > _blockBytes) _recentLargestBytes -= _recentLargestBytes / 16;
        bool isSmall = keptBytes < _blockBytes;
        bool isOversized = keptBytes > Math.Max(_blockBytes, _recentLargestBytes) * 2;
        if (!isSmall && !isOversized) return;
        _block.Release();
        _block = null;
    }
}
