using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>Both directions of one connection's bytes: a socket, or what stands over it.</summary>
/// <remarks>
/// <para>One receive and one send may be under way at a time. <see cref="Abort"/> may be called by anybody and ends
/// both; <see cref="Dispose"/> is for whoever knows that both have ended.</para>
/// <para>A sealed class that branches, not an interface: over a bare socket nothing stands between its callers and the
/// system call.</para>
/// </remarks>
internal sealed class Wire(Socket socket) : IDisposable
{
    private SslStream? _stream;

    /// <summary>The socket, for the handshake before anything else goes over the wire.</summary>
    public Socket Socket => socket;

    /// <summary>Whether what waits can be told before it is read; if not, a receive of no bytes tells.</summary>
    public bool IsBare => _stream is null;

    /// <summary>Bytes that can be read at once, as far as that is known.</summary>
    public int Available => _stream is null ? socket.Available : 0;

    /// <summary>From here on bytes go through TLS.</summary>
    public void Secure(SslStream stream) => _stream = stream;

    /// <summary>Receives what is there, or waits; into no bytes it waits until something is there or the end.</summary>
    /// <returns>0 at the end of the stream.</returns>
    public ValueTask<int> ReceiveAsync(Memory<byte> room, CancellationToken cancellationToken) => _stream is null
        ? socket.ReceiveAsync(room, SocketFlags.None, cancellationToken)
        : _stream.ReadAsync(room, cancellationToken);

    /// <summary>Sends some or all of the bytes.</summary>
    /// <returns>How many were taken.</returns>
    public ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes) => _stream is null
        ? socket.SendAsync(bytes, SocketFlags.None)
        : WriteAsync(_stream, bytes);

    /// <summary>Ends the stream behind what was sent; the peer's bytes still come.</summary>
    public async ValueTask EndSendingAsync()
    {
        if (_stream is not null) await _stream.ShutdownAsync().ConfigureAwait(false);
        socket.Shutdown(SocketShutdown.Send);
    }

    /// <summary>Closes at once; what is under way ends with an exception.</summary>
    public void Abort() => socket.Dispose();

    /// <summary>Lets go of everything, when nothing is under way any more.</summary>
    public void Dispose()
    {
        socket.Dispose();
        _stream?.Dispose();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> WriteAsync(SslStream stream, ReadOnlyMemory<byte> bytes)
    {
        await stream.WriteAsync(bytes).ConfigureAwait(false);
        return bytes.Length;
    }
}
