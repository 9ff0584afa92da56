using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Holds connections that say nothing: <c>open</c> with an <see cref="IdleOrder"/>, as often as wanted; <c>state</c>
/// tells what became of them.
/// </summary>
internal sealed class IdleRole : IRole
{
    /// <summary>Connections that are being opened at a time: fewer than a listener's backlog.</summary>
    private const int Openers = 32;

    private readonly ConcurrentBag<IdleConnection> _connections = [];
    private readonly IdleCounts _counts = new();
    private int _wanted;
    private string? _endedBy;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "open")
            return await OpenAsync(RoleJson.Read<IdleOrder>(argument), cancellationToken);
        return new IdleState(
            _connections.Count - (int)Interlocked.Read(ref _counts.Lost),
            Interlocked.Read(ref _counts.Lost),
            Interlocked.Read(ref _counts.WrongFrames),
            Interlocked.Read(ref _counts.Answered));
    }

    public async ValueTask DisposeAsync()
    {
        foreach (IdleConnection connection in _connections)
            await connection.DisposeAsync();
    }

    private async Task<IdleOpened> OpenAsync(IdleOrder order, CancellationToken cancellationToken)
    {
        int before = _connections.Count;
        _wanted = order.Count;
        _endedBy = null;
        long startNs = Clock.NowNs;
        await Task.WhenAll(Enumerable.Range(0, Openers).Select(_ => OpenSomeAsync(order, cancellationToken)));
        return new IdleOpened(_connections.Count - before, (Clock.NowNs - startNs) / 1e9, _endedBy);
    }

    private async Task OpenSomeAsync(IdleOrder order, CancellationToken cancellationToken)
    {
        var broker = IPEndPoint.Parse(order.Server);
        var source = IPAddress.Parse(order.Source);
        while (Volatile.Read(ref _endedBy) is null && Interlocked.Decrement(ref _wanted) >= 0)
        {
            try
            {
                _connections.Add(await IdleConnection.OpenAsync(broker, source, _counts, cancellationToken));
            }
            catch (SocketException exception)
            {
                _endedBy = Explain(exception, order);
            }
            catch (EndOfStreamException exception)
            {
                _endedBy = exception.Message;
            }
        }
    }

    private static string Explain(SocketException exception, IdleOrder order) => exception.SocketErrorCode switch
    {
        SocketError.TooManyOpenSockets => "file descriptors of the process that holds the connections",
        SocketError.AddressAlreadyInUse or SocketError.AddressNotAvailable => $"ports of {order.Source}",
        SocketError.NoBufferSpaceAvailable => "the system's memory for sockets",
        _ => $"{exception.SocketErrorCode}: {exception.Message}",
    };
}
