using System.Net;
using System.Net.Sockets;
using System.Threading.Channels;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>A place within this process where one server listens and clients connect, without a socket.</summary>
/// <remarks>Given to both: to <see cref="RemotingServerOptions.InMemory"/>, and to the client as its end point. A
/// server may stop and another one listen on it. Thread-safe.</remarks>
public sealed class InMemoryEndPoint : EndPoint
{
    private static int _lastNumber;

    private readonly int _number = Interlocked.Increment(ref _lastNumber);
    private Channel<InMemoryStream>? _listener;

    /// <summary><c>memory:N</c>, with a number of its own in this process.</summary>
    public override string ToString() => $"memory:{_number}";

    /// <summary>Begins to listen.</summary>
    /// <param name="backlog">Connections that wait to be accepted at most; one more is refused.</param>
    /// <exception cref="SocketException">A server listens here.</exception>
    internal ChannelReader<InMemoryStream> Listen(int backlog)
    {
        var listener = Channel.CreateBounded<InMemoryStream>(backlog);
        return Interlocked.CompareExchange(ref _listener, listener, null) is null
            ? listener.Reader
            : throw new SocketException((int)SocketError.AddressAlreadyInUse, $"{this}: another server listens there");
    }

    /// <summary>Ends listening; connections that were not accepted are cut.</summary>
    internal void Close()
    {
        if (Interlocked.Exchange(ref _listener, null) is not { } listener)
            return;
        listener.Writer.TryComplete();
        while (listener.Reader.TryRead(out InMemoryStream? waiting))
            waiting.Abort();
    }

    /// <summary>The client's end of a new connection.</summary>
    /// <exception cref="SocketException">No listener, or too many wait to be accepted.</exception>
    internal InMemoryStream Connect()
    {
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        return Volatile.Read(ref _listener) is { } listener && listener.Writer.TryWrite(far)
            ? near
            : throw new SocketException((int)SocketError.ConnectionRefused);
    }
}
