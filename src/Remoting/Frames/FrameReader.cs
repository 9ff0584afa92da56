using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Takes whole frames out of a <see cref="PipeReader"/>: many per read, each payload in one piece.</summary>
/// <remarks>Owned by one receive loop, which calls <see cref="FillAsync"/> and then <see cref="TryRead"/> until it
/// says no.</remarks>
internal sealed class FrameReader(PipeReader input, int maxFrameBytes) : IDisposable
{
    private readonly WireReader? _wireInput = input as WireReader;
    private ReadOnlySequence<byte> _unread;
    private ReceiveBlock? _joined;
    private int _neededBytes = sizeof(uint);
    private bool _isFilled;
    private bool _isAtEnd;

    /// <summary>Whether the peer began with TLS.</summary>
    public bool HasSeenTls { get; private set; }

    /// <summary>Whether bytes are there that are no whole frame; to be asked when <see cref="TryRead"/> has said
    /// no.</summary>
    public bool HasPartialFrame => !_unread.IsEmpty;

    /// <summary>Lets go of what was read and waits for more.</summary>
    /// <returns>Whether there is something to read; <see langword="false"/> when the stream ended between two
    /// frames.</returns>
    /// <exception cref="RemotingException">The stream ended inside a frame.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<bool> FillAsync()
    {
        if (_isAtEnd) return EndOfStream();
        bool isFirst = !_isFilled;
        if (!isFirst) input.AdvanceTo(_unread.Start, _unread.End);

        ReadResult result = await input.ReadAtLeastAsync(_neededBytes).ConfigureAwait(false);
        _isFilled = true;
        _unread = result.Buffer;
        _isAtEnd = result.IsCompleted;
        if (isFirst) RefuseTls();
        return !_isAtEnd || _unread.Length >= _neededBytes || EndOfStream();
    }

    /// <summary>The next whole frame.</summary>
    /// <exception cref="RemotingException">The bytes are not a frame.</exception>
    public bool TryRead(out FrameHeader header, out ReadOnlySequence<byte> payload)
    {
        payload = default;
        if (!TryReadHeader(out header)) return false;
        if (_unread.Length < header.Length)
        {
            _neededBytes = (int)header.Length;
            return false;
        }

        payload = _unread.Slice(FrameHeader.Size, header.PayloadBytes);
        _unread = _unread.Slice(header.Length);
        _neededBytes = sizeof(uint);
        return true;
    }

    /// <summary>The payload in one piece, valid until the next call of this reader.</summary>
    public ReadOnlyMemory<byte> Lend(ReadOnlySequence<byte> payload)
    {
        if (payload.IsSingleSegment) return payload.First;
        _joined?.Release();
        _joined = Join(payload);
        return _joined.Array.AsMemory(0, (int)payload.Length);
    }

    /// <summary>The payload in one piece, valid until the lease ends.</summary>
    public ResponseFrame Lease(FrameHeader header, ReadOnlySequence<byte> payload)
    {
        if (_wireInput is not null) return _wireInput.Lease(header, payload);
        ReceiveBlock block = Join(payload);
        ResponseFrame lease = block.Lease(header, 0, (int)payload.Length);
        block.Release();
        return lease;
    }

    /// <summary>Lets go of the input.</summary>
    public void Dispose()
    {
        _unread = default;
        _joined?.Release();
        _joined = null;
        input.Complete();
    }

    private static ReceiveBlock Join(ReadOnlySequence<byte> payload)
    {
        ReceiveBlock block = ReceiveBlock.Rent((int)payload.Length);
        payload.CopyTo(block.Array);
        return block;
    }

    /// <summary>The first bytes tell a peer that speaks TLS, which would else look like a long frame.</summary>
    private void RefuseTls()
    {
        HasSeenTls = TlsRecord.IsGreeting(_unread.FirstSpan) || TlsRecord.IsAlert(_unread.FirstSpan);
        if (!HasSeenTls) return;
        var refusal = new TlsRefusedException("The peer speaks TLS, this end does not.");
        throw new RemotingException(RemotingError.ProtocolViolation, refusal.Message, refusal);
    }

    private bool TryReadHeader(out FrameHeader header)
    {
        Span<byte> joined = stackalloc byte[FrameHeader.Size];
        scoped ReadOnlySpan<byte> start = _unread.FirstSpan;
        if (start.Length < FrameHeader.Size && !_unread.IsSingleSegment)
        {
            int bytes = (int)Math.Min(_unread.Length, FrameHeader.Size);
            _unread.Slice(0, bytes).CopyTo(joined);
            start = joined[..bytes];
        }

        if (FrameHeader.TryRead(start, maxFrameBytes, out header, out FrameFault fault)) return true;
        if (fault != FrameFault.Incomplete) throw Violation(fault, header.Length);
        _neededBytes = start.Length < sizeof(uint) ? sizeof(uint) : FrameHeader.Size;
        return false;
    }

    private bool EndOfStream() => _unread.IsEmpty
        ? false
        : throw new RemotingException(
            RemotingError.ProtocolViolation,
            $"The stream ended inside a frame: {_unread.Length} of at least {_neededBytes} bytes are there.");

    private RemotingException Violation(FrameFault fault, uint length) => new(
        RemotingError.ProtocolViolation,
        fault == FrameFault.UnknownFlags
            ? $"A frame of {length} bytes carries flags that must be understood and are not."
            : $"A frame's length is {length}; {FrameHeader.Size}..{maxFrameBytes} is accepted.");
}
