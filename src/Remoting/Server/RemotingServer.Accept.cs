using System.Net;
using System.Net.Sockets;
using System.Threading.Channels;

namespace EQueue.Remoting;

/// <content>Listening, accepting, and watching what was accepted.</content>
public sealed partial class RemotingServer
{
    private static readonly TimeSpan AcceptBackOff = TimeSpan.FromMilliseconds(100);

    private long _lastId;
    private int _connectionCount;
    private int _isWatching;

    private TimeSpan WatchPeriod
    {
        get
        {
            double sendMs = _options.SendTimeout.TotalMilliseconds;
            double idleMs = _options.IdleTimeout.TotalMilliseconds;
            double admissionMs = _options.AdmissionTimeout.TotalMilliseconds;
            double shortestMs = Math.Min(Math.Min(sendMs, idleMs), admissionMs > 0 ? admissionMs : idleMs);
            return TimeSpan.FromMilliseconds(Math.Clamp(shortestMs / 8, 20, 1000));
        }
    }

    private async Task ListenAsync(string address, CancellationToken cancellationToken)
    {
        try
        {
            await ListenAsync(HostPort.Parse(address), cancellationToken).ConfigureAwait(false);
        }
        catch (SocketException exception)
        {
            throw new SocketException((int)exception.SocketErrorCode, $"{address}: {exception.Message}");
        }
    }

    private async Task ListenAsync(EndPoint endPoint, CancellationToken cancellationToken)
    {
        SocketException? refused = null;
        int port = 0;
        int before = _listeners.Count;
        if (endPoint is UnixDomainSocketEndPoint path)
        {
            _socketFiles.Add(UnixSocketFile.Claim(path.ToString()));
            AddListener(Listen(new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified), path));
            return;
        }

        foreach (EndPoint address in await HostPort.ResolveAsync(endPoint, cancellationToken).ConfigureAwait(false))
        {
            var local = (IPEndPoint)address;
            try
            {
                Socket listener = Listen(local.Port == 0 ? new IPEndPoint(local.Address, port) : local);
                AddListener(listener);
                port = ((IPEndPoint)listener.LocalEndPoint!).Port;
            }
            catch (SocketException exception) when (
                exception.SocketErrorCode is SocketError.AddressNotAvailable or SocketError.AddressFamilyNotSupported)
            {
                // One of a name's addresses may belong to a protocol that this machine does not run.
                refused = exception;
            }
        }

        if (_listeners.Count == before)
            throw refused ?? new SocketException((int)SocketError.HostNotFound);
    }

    private Socket Listen(IPEndPoint local)
    {
        var listener = new Socket(local.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        if (local.Address.Equals(IPAddress.IPv6Any))
            listener.DualMode = true;
        return Listen(listener, local);
    }

    private Socket Listen(Socket listener, EndPoint local)
    {
        try
        {
            listener.Bind(local);
            listener.Listen(_options.Backlog);
            return listener;
        }
        catch
        {
            listener.Dispose();
            throw;
        }
    }

    private void AddListener(Socket listener)
    {
        _listeners.Add(listener);
        Log.Listening(_logger, listener.LocalEndPoint!);
    }

    private async Task RunAcceptAsync(Func<Task> accept)
    {
        while (!_stopping.IsCancellationRequested)
        {
            try
            {
                await accept().ConfigureAwait(false);
            }
            catch (Exception) when (_stopping.IsCancellationRequested)
            {
                return;
            }
            catch (Exception exception)
            {
                // Out of descriptors, or a connection that died before it was accepted: the next one deserves a try.
                Log.AcceptFailed(_logger, LocalEndPoint, exception);
                await Task.Delay(AcceptBackOff, _time, CancellationToken.None).ConfigureAwait(false);
            }
        }
    }

    private async Task AcceptAsync(Socket listener)
    {
        while (true)
            Begin(await listener.AcceptAsync(_stopping.Token).ConfigureAwait(false), listener);
    }

    private async Task AcceptInMemoryAsync(InMemoryEndPoint endPoint, ChannelReader<InMemoryStream> listener)
    {
        await foreach (InMemoryStream memory in listener.ReadAllAsync(_stopping.Token).ConfigureAwait(false))
        {
            if (TakePlace(endPoint) is { } share)
                Begin(new Wire(memory), ConnectionPeer.Within(endPoint), share, null);
            else
                memory.Abort();
        }
    }

    /// <summary>A place for a new peer. When all are taken, the one that has been here the longest without saying who
    /// it is makes room.</summary>
    /// <returns>Its address's share; null when it is refused.</returns>
    private PeerShare? TakePlace(EndPoint remote)
    {
        while (true)
        {
            ConnectionPlaces.Refusal refusal = _places.TryTake(remote, out PeerShare? share);
            if (refusal == ConnectionPlaces.Refusal.None)
                return share;
            if (refusal == ConnectionPlaces.Refusal.Address)
            {
                Log.AddressRefused(_logger, remote, share!.Connections, _options.MaxConnections);
                return null;
            }

            if (_lobby.TakeOldest() is not { } oldest)
            {
                Log.ConnectionRefused(_logger, _options.MaxConnections, remote);
                return null;
            }

            Log.MadeRoom(_logger, oldest.Id, oldest.RemoteEndPoint, _options.MaxConnections);
            oldest.Close(new RemotingException(
                RemotingError.Timeout, "All places are taken, and the peer has not said who it is."));
            GivePlace(oldest);
        }
    }

    private void GivePlace(Connection connection)
    {
        if (connection.Stay.TryLosePlace())
            _places.Give(connection.Share);
    }

    private void Begin(Socket socket, Socket listener)
    {
        PeerShare? share = null;
        try
        {
            // The peers of a Unix socket have no addresses of their own.
            bool isTcp = listener.AddressFamily != AddressFamily.Unix;
            EndPoint remote = (isTcp ? socket.RemoteEndPoint : null) ?? listener.LocalEndPoint!;
            share = TakePlace(remote);
            if (share is null)
            {
                socket.Dispose();
                return;
            }

            if (isTcp)
            {
                socket.NoDelay = true;
                TcpSocket.StayUnpacedWithinMachine(socket);
            }

            TcpSocket.SizeBuffers(socket, _options.SocketBufferBytes);
            var peer = ConnectionPeer.Behind(socket, remote);
            TlsAcceptor? tls = isTcp ? _tls : null;
            Begin(new Wire(socket, isForTls: tls is not null), peer, share, tls);
        }
        catch (Exception exception)
        {
            socket.Dispose();
            if (share is not null)
                _places.Give(share);

            // A peer that is gone again: its own affair, and no reason to accept others later.
            if (exception is not SocketException)
                throw;
        }
    }

    private void Begin(Wire wire, ConnectionPeer peer, PeerShare share, TlsAcceptor? tls)
    {
        long id = Interlocked.Increment(ref _lastId);
        var connection = new FrameConnection(id, wire, peer, tls, share, _terms, _handler);
        Interlocked.Increment(ref _connectionCount);
        _connections[connection.Id] = connection;
        connection.Stay.Enter(_lobby, connection);
        connection.Start(End);
    }

    private void End(Connection connection)
    {
        connection.Stay.LeaveLobby();
        GivePlace(connection);
        if (_connections.TryRemove(connection.Id, out _))
            Interlocked.Decrement(ref _connectionCount);
    }

    private void WatchAll()
    {
        // A pass that is late must not meet the next one: both would tell of the same peer.
        if (Interlocked.Exchange(ref _isWatching, 1) != 0)
            return;
        try
        {
            bool isPressed = _sendBudget.TakePressure();
            foreach (KeyValuePair<long, Connection> entry in _connections)
                entry.Value.Watch(isPressed);
        }
        finally
        {
            Volatile.Write(ref _isWatching, 0);
        }
    }
}
