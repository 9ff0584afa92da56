using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Both directions of one connection's bytes: a socket, TLS over it, or memory.</summary>
/// <remarks>
/// <para>One receive and one send may be under way at a time. <see cref="Abort"/> may be called by anybody and ends
/// both; <see cref="Dispose"/> is for a caller that knows both have ended.</para>
/// <para>A sealed class that branches, not an interface: over a bare socket nothing stands between its callers and the
/// system call.</para>
/// </remarks>
internal sealed class Wire : IDisposable
{
    private readonly Socket? _socket;
    private readonly PolledSocket? _polled;
    private readonly InMemoryStream? _memory;
    private SslStream? _tls;

    /// <summary>A wire over a socket.</summary>
    /// <param name="socket">Connected or not, owned from here on.</param>
    /// <param name="isForTls">Whether it is bare only until <see cref="Secure"/>.</param>
    public Wire(Socket socket, bool isForTls)
    {
        _socket = socket;
        if (!isForTls && SocketPoller.Shared is { } poller)
            _polled = new PolledSocket(socket, poller);
        IsBare = true;
    }

    /// <summary>A wire within this process.</summary>
    public Wire(InMemoryStream memory) => _memory = memory;

    /// <summary>The socket, for the handshake before anything else goes over the wire; there is none in
    /// memory.</summary>
    public Socket Socket => _socket!;

    /// <summary>Whether it is a socket and nothing else: then what waits can be told before it is read. If not, a
    /// receive of no bytes costs nothing and keeps nothing.</summary>
    public bool IsBare { get; private set; }

    /// <summary>Bytes that can be read at once, as far as that is known.</summary>
    public int Available => IsBare ? _socket!.Available : 0;

    /// <summary>Whether bytes have come that were not received yet, as far as that is known. Any thread.</summary>
    public bool HasArrived
    {
        get
        {
            try
            {
                return _socket is { Available: > 0 };
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                return false;
            }
        }
    }

    /// <summary>Connects its socket; once only.</summary>
    /// <exception cref="SocketException">Refused, or out of reach.</exception>
    public ValueTask ConnectAsync(EndPoint address, CancellationToken cancellationToken) => _polled is null
        ? _socket!.ConnectAsync(address, cancellationToken)
        : _polled.ConnectAsync(address, cancellationToken);

    /// <summary>From here on bytes go through TLS.</summary>
    public void Secure(SslStream tls)
    {
        _tls = tls;
        IsBare = false;
    }

    /// <summary>Receives what is there; a bare socket's only.</summary>
    /// <returns>0 at the end of the stream; less when it is to be waited for.</returns>
    public int TryReceive(Span<byte> room)
    {
        if (_polled is not null)
            return _polled.TryReceive(room);
        if (_socket!.Blocking)
            _socket.Blocking = false;
        int received = _socket.Receive(room, SocketFlags.None, out SocketError error);
        return error switch
        {
            SocketError.Success => received,
            SocketError.WouldBlock => -1,
            _ => throw new SocketException((int)error),
        };
    }

    /// <summary>Receives what is there, or waits; into no bytes it waits until something is there or the end.</summary>
    /// <returns>0 at the end of the stream.</returns>
    public ValueTask<int> ReceiveAsync(Memory<byte> room, CancellationToken cancellationToken)
    {
        if (_polled is not null)
            return _polled.ReceiveAsync(room);
        if (IsBare)
            return _socket!.ReceiveAsync(room, SocketFlags.None, cancellationToken);
        return _tls is null ? _memory!.ReadAsync(room, cancellationToken) : _tls.ReadAsync(room, cancellationToken);
    }

    /// <summary>Sends some or all of the bytes.</summary>
    /// <returns>How many were taken.</returns>
    public ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes)
    {
        if (_polled is not null)
            return _polled.SendAsync(bytes);
        if (IsBare)
            return _socket!.SendAsync(bytes, SocketFlags.None);
        return _tls is null ? _memory!.WriteAsync(bytes) : WriteAsync(_tls, bytes);
    }

    /// <summary>Ends the stream behind what was sent; the peer's bytes still come.</summary>
    public async ValueTask EndSendingAsync()
    {
        if (_tls is not null)
            await _tls.ShutdownAsync().ConfigureAwait(false);
        if (_polled is not null)
            _polled.EndSending();
        else
            _socket?.Shutdown(SocketShutdown.Send);
        _memory?.EndSending();
    }

    /// <summary>Closes at once; what is under way ends with an exception.</summary>
    public void Abort()
    {
        _polled?.Dispose();
        _socket?.Dispose();
        _memory?.Abort();
    }

    /// <summary>Lets go of everything, when nothing is under way any more.</summary>
    public void Dispose()
    {
        Abort();
        _tls?.Dispose();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> WriteAsync(SslStream tls, ReadOnlyMemory<byte> bytes)
    {
        await tls.WriteAsync(bytes).ConfigureAwait(false);
        return bytes.Length;
    }
}
