using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Takes whole frames out of a <see cref="PipeReader"/>: many per read, each payload in one piece.</summary>
/// <remarks>Owned by one receive loop, which calls <see cref="FillAsync"/> and then <see cref="TryRead"/> until it
/// says no.</remarks>
/// <param name="input">The bytes.</param>
/// <param name="maxFrameBytes">The largest frame, until <see cref="MaxFrameBytes"/> is set.</param>
internal sealed class FrameReader(PipeReader input, int maxFrameBytes) : IDisposable
{
    private readonly WireReader? _wireInput = input as WireReader;
    private ReadOnlySequence<byte> _shown;
    private ReadOnlyMemory<byte> _piece;
    private ReceiveBlock? _joined;
    private long _shownBytes;
    private int _readBytes;
    private int _neededBytes = sizeof(uint);
    private bool _isFilled;
    private bool _isAtEnd;

    /// <summary>Whether the peer began with TLS.</summary>
    public bool HasSeenTls { get; private set; }

    /// <summary>Whether there are bytes behind the frame that was read last; when <see cref="TryRead"/> has said no,
    /// they are no whole frame.</summary>
    public bool HasUnread => UnreadBytes > 0;

    /// <summary>The largest frame that is accepted; the receive loop's own.</summary>
    public int MaxFrameBytes { get; set; } = maxFrameBytes;

    private long UnreadBytes => _shownBytes - _readBytes;

    /// <summary>Lets go of what was read and waits for more.</summary>
    /// <returns>Whether there is something to read; <see langword="false"/> when the stream ended between two
    /// frames.</returns>
    /// <exception cref="RemotingException">The stream ended inside a frame.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<bool> FillAsync()
    {
        if (_isAtEnd)
            return EndOfStream();
        bool isFirst = !_isFilled;
        if (!isFirst)
            input.AdvanceTo(_shown.GetPosition(_readBytes), _shown.End);

        ReadResult result = await input.ReadAtLeastAsync(_neededBytes).ConfigureAwait(false);
        Show(result.Buffer);
        _isFilled = true;
        _isAtEnd = result.IsCompleted;
        if (isFirst)
            RefuseOthers();
        return !_isAtEnd || UnreadBytes >= _neededBytes || EndOfStream();
    }

    /// <summary>The next whole frame, its payload in one piece.</summary>
    /// <param name="header">The frame's header.</param>
    /// <param name="payload">Valid until the next call of this reader, unless it is leased.</param>
    /// <exception cref="RemotingException">The bytes are not a frame.</exception>
    public bool TryRead(out FrameHeader header, out ReadOnlyMemory<byte> payload)
    {
        payload = default;
        if (!TryReadHeader(out header))
            return false;
        int length = (int)header.Length;
        if (UnreadBytes < length)
        {
            _neededBytes = length;
            return false;
        }

        int end = _readBytes + length;
        payload = end <= _piece.Length
            ? _piece[(_readBytes + FrameHeader.Size)..end]
            : OnePiece(_shown.Slice(_readBytes + FrameHeader.Size, header.PayloadBytes));
        _readBytes = end;
        _neededBytes = sizeof(uint);
        return true;
    }

    /// <summary>The frame that was read last, valid until the lease ends.</summary>
    public ResponseFrame Lease(FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        if (_wireInput is not null)
            return _wireInput.Lease(_readBytes - (int)header.Length);
        byte[] frame = new byte[header.Length];
        header.Write(frame);
        payload.CopyTo(frame.AsMemory(FrameHeader.Size));
        return new ResponseFrame(frame);
    }

    /// <summary>Lets go of the input.</summary>
    public void Dispose()
    {
        Show(default);
        _joined?.Release();
        _joined = null;
        input.Complete();
    }

    private void Show(ReadOnlySequence<byte> bytes)
    {
        _shown = bytes;
        _shownBytes = bytes.Length;
        _piece = bytes.First;
        _readBytes = 0;
    }

    private ReadOnlyMemory<byte> OnePiece(ReadOnlySequence<byte> payload)
    {
        if (payload.IsSingleSegment)
            return payload.First;
        _joined?.Release();
        _joined = ReceiveBlock.Rent((int)payload.Length);
        payload.CopyTo(_joined.Array);
        return _joined.Array.AsMemory(0, (int)payload.Length);
    }

    /// <summary>The first bytes tell a peer that speaks TLS or HTTP, which would else look like a long frame.</summary>
    private void RefuseOthers()
    {
        if (_piece.Span.StartsWith("HTTP"u8))
        {
            var other = new HttpPeerException("The peer answers HTTP.");
            throw new RemotingException(RemotingError.ProtocolViolation, other.Message, other);
        }

        HasSeenTls = TlsRecord.IsGreeting(_piece.Span) || TlsRecord.IsAlert(_piece.Span);
        if (!HasSeenTls)
            return;
        var refusal = new TlsRefusedException("The peer speaks TLS, this end does not.");
        throw new RemotingException(RemotingError.ProtocolViolation, refusal.Message, refusal);
    }

    private bool TryReadHeader(out FrameHeader header)
    {
        Span<byte> joined = stackalloc byte[FrameHeader.Size];
        scoped ReadOnlySpan<byte> start;
        if (_piece.Length - _readBytes >= FrameHeader.Size || _shown.IsSingleSegment)
        {
            start = _piece.Span[_readBytes..];
        }
        else
        {
            int bytes = (int)Math.Min(UnreadBytes, FrameHeader.Size);
            _shown.Slice(_readBytes, bytes).CopyTo(joined);
            start = joined[..bytes];
        }

        if (FrameHeader.TryRead(start, MaxFrameBytes, out header, out FrameFault fault))
            return true;
        if (fault != FrameFault.Incomplete)
            throw Violation(fault, header.Length);
        _neededBytes = start.Length < sizeof(uint) ? sizeof(uint) : FrameHeader.Size;
        return false;
    }

    private bool EndOfStream() => !HasUnread
        ? false
        : throw new RemotingException(
            RemotingError.ProtocolViolation,
            $"The stream ended inside a frame: {UnreadBytes} of at least {_neededBytes} bytes are there.");

    private RemotingException Violation(FrameFault fault, uint length) => new(
        RemotingError.ProtocolViolation,
        fault == FrameFault.UnknownFlags
            ? $"A frame of {length} bytes carries flags that must be understood and are not."
            : $"A frame's length is {length}; {FrameHeader.Size}..{MaxFrameBytes} is accepted.");
}
