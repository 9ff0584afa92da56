using System.Buffers;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>One direction of a connection in memory: a bounded run of bytes, with the manners of a socket.</summary>
/// <remarks>One writer and one reader at a time; ending and cutting come from any thread. Memory is held only while
/// bytes are in it.</remarks>
internal sealed class InMemoryFlow
{
    /// <summary>What a writer may be ahead of the reader.</summary>
    public const int CapacityBytes = 256 * 1024;

    private readonly Lock _lock = new();
    private byte[]? _bytes;
    private int _start;
    private int _count;
    private bool _isEnded;
    private bool _isCut;
    private TaskCompletionSource? _news;
    private TaskCompletionSource? _room;

    /// <summary>Puts all bytes in, waiting for the reader when it is full.</summary>
    /// <exception cref="IOException">It was ended, or cut.</exception>
    public async ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        while (!bytes.IsEmpty)
        {
            Task room;
            lock (_lock)
            {
                if (_isEnded || _isCut)
                    throw Lost();
                bytes = bytes[Put(bytes.Span)..];
                if (bytes.IsEmpty)
                    return;
                _room ??= NewSignal();
                room = _room.Task;
            }

            await room.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Takes what is there, or waits; into no bytes it waits until something is there or the end.</summary>
    /// <returns>0 at the end.</returns>
    /// <exception cref="IOException">It was cut.</exception>
    public async ValueTask<int> ReadAsync(Memory<byte> into, CancellationToken cancellationToken)
    {
        while (true)
        {
            Task news;
            lock (_lock)
            {
                if (_isCut)
                    throw Lost();
                if (_count > 0)
                    return Take(into.Span);
                if (_isEnded)
                    return 0;
                _news ??= NewSignal();
                news = _news.Task;
            }

            await news.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Nothing more is written; what is there can be read.</summary>
    public void End()
    {
        lock (_lock)
        {
            _isEnded = true;
            Signal(ref _news);
            Signal(ref _room);
        }
    }

    /// <summary>Drops what is there; both sides fail from here on.</summary>
    /// <returns>Whether something was dropped.</returns>
    public bool Cut()
    {
        lock (_lock)
        {
            bool hadBytes = _count > 0;
            _isCut = true;
            _count = 0;
            Release();
            Signal(ref _news);
            Signal(ref _room);
            return hadBytes;
        }
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    private static void Signal(ref TaskCompletionSource? signal)
    {
        signal?.TrySetResult();
        signal = null;
    }

    private static IOException Lost()
    {
        var reset = new SocketException((int)SocketError.ConnectionReset);
        return new IOException(reset.Message, reset);
    }

    private int Put(ReadOnlySpan<byte> bytes)
    {
        int count = Math.Min(bytes.Length, CapacityBytes - _count);
        if (count == 0)
            return 0;
        _bytes ??= ArrayPool<byte>.Shared.Rent(CapacityBytes);
        int at = (_start + _count) % CapacityBytes;
        int first = Math.Min(count, CapacityBytes - at);
        bytes[..first].CopyTo(_bytes.AsSpan(at));
        bytes[first..count].CopyTo(_bytes);
        _count += count;
        Signal(ref _news);
        return count;
    }

    private int Take(Span<byte> into)
    {
        int count = Math.Min(into.Length, _count);
        if (count == 0)
            return 0;
        int first = Math.Min(count, CapacityBytes - _start);
        _bytes.AsSpan(_start, first).CopyTo(into);
        _bytes.AsSpan(0, count - first).CopyTo(into[first..]);
        _start = (_start + count) % CapacityBytes;
        _count -= count;
        if (_count == 0)
            Release();
        Signal(ref _room);
        return count;
    }

    private void Release()
    {
        if (_bytes is not null)
            ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = null;
        _start = 0;
    }
}
