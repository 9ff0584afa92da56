using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>Makes the wires of one client: to the first address of its end point that answers, with TLS if that is
/// asked for.</summary>
internal sealed class Dialer
{
    private readonly RemotingClientOptions _options;
    private readonly TlsConnector? _tls;
    private readonly TimeProvider _time;
    private readonly Func<EndPoint, CancellationToken, ValueTask<IReadOnlyList<EndPoint>>> _resolve;

    /// <param name="options">How.</param>
    /// <param name="time">Measures the time of each address.</param>
    /// <param name="resolve">The addresses behind an end point; the system's resolver unless a test has its own.
    /// </param>
    public Dialer(
        RemotingClientOptions options,
        TimeProvider time,
        Func<EndPoint, CancellationToken, ValueTask<IReadOnlyList<EndPoint>>>? resolve = null)
    {
        _options = options;
        _tls = options.Tls is null ? null : new TlsConnector(options.Tls);
        _time = time;
        _resolve = resolve ?? HostPort.ResolveAsync;
    }

    /// <summary>Tries the addresses in turn. Each has its share of the connect timeout, so that one that swallows
    /// everything leaves time for the next.</summary>
    /// <param name="endPoint">Where to.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="SocketException">None can be reached.</exception>
    /// <exception cref="TimeoutException">None answered in time.</exception>
    /// <exception cref="TlsRefusedException">One was reached, and TLS refused.</exception>
    /// <exception cref="IOException">One was reached, and lost during the TLS handshake.</exception>
    public async Task<(Wire Wire, EndPoint Address)> DialAsync(
        EndPoint endPoint, CancellationToken cancellationToken)
    {
        long started = _time.GetTimestamp();
        IReadOnlyList<EndPoint> addresses = await ResolveAsync(endPoint, cancellationToken).ConfigureAwait(false);
        Exception? failure = null;
        for (int i = 0; i < addresses.Count; i++)
        {
            TimeSpan left = _options.ConnectTimeout - _time.GetElapsedTime(started);
            TimeSpan share = (left > TimeSpan.Zero ? left : TimeSpan.Zero) / (addresses.Count - i);
            using var timeout = new CancellationTokenSource(share, _time);
            using var either = CancellationTokenSource.CreateLinkedTokenSource(timeout.Token, cancellationToken);
            try
            {
                return (await DialAsync(endPoint, addresses[i], either.Token).ConfigureAwait(false), addresses[i]);
            }
            catch (SocketException exception)
            {
                failure = exception;
            }
            catch (OperationCanceledException) when (timeout.IsCancellationRequested
                && !cancellationToken.IsCancellationRequested)
            {
                failure = TimedOut(addresses[i]);
            }
        }

        throw failure ?? new SocketException((int)SocketError.HostNotFound);
    }

    private async Task<IReadOnlyList<EndPoint>> ResolveAsync(EndPoint endPoint, CancellationToken cancellationToken)
    {
        using var timeout = new CancellationTokenSource(_options.ConnectTimeout, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(timeout.Token, cancellationToken);
        try
        {
            return await _resolve(endPoint, either.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (timeout.IsCancellationRequested)
        {
            throw TimedOut(endPoint);
        }
    }

    /// <summary>Without the cause: that says cancelled, and nothing was but this attempt.</summary>
    private TimeoutException TimedOut(EndPoint address) =>
        new($"No connection to {HostPort.Format(address)} within {_options.ConnectTimeout.TotalSeconds:0.###} s.");

    private async Task<Wire> DialAsync(EndPoint endPoint, EndPoint address, CancellationToken cancellationToken)
    {
        if (address is InMemoryEndPoint memory)
            return new Wire(memory.Connect());
        bool isTcp = address is not UnixDomainSocketEndPoint;
        var socket = new Socket(
            address.AddressFamily, SocketType.Stream, isTcp ? ProtocolType.Tcp : ProtocolType.Unspecified);
        Wire? wire = null;
        try
        {
            wire = new Wire(socket, isForTls: _tls is not null && isTcp);
            if (isTcp)
                socket.NoDelay = true;
            TcpSocket.SizeBuffers(socket, _options.SocketBufferBytes);
            await wire.ConnectAsync(address, cancellationToken).ConfigureAwait(false);
            if (isTcp)
                TcpSocket.StayUnpacedWithinMachine(socket);
            if (_tls is not null && isTcp)
                await _tls.SecureAsync(wire, endPoint, cancellationToken).ConfigureAwait(false);
            return wire;
        }
        catch
        {
            wire?.Dispose();
            socket.Dispose();
            throw;
        }
    }
}
