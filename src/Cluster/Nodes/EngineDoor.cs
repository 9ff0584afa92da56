using System.Collections.Concurrent;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Cluster;

/// <summary>Leads clients' connections to the engine while there is one.</summary>
/// <remarks>Thread-safe.</remarks>
/// <param name="board">Who leads: clients that are served may ask as well.</param>
internal sealed class EngineDoor(LeaderBoard board)
{
    private readonly ConcurrentDictionary<long, FrameConnection> _inside = new();
    private volatile IConnectionHandler? _engine;

    /// <summary>Whether clients are served.</summary>
    public bool IsOpen => _engine is not null;

    /// <summary>Begins to let clients in.</summary>
    public void Open(IConnectionHandler engine) => _engine = engine;

    /// <summary>Admits no more callers; those inside stay until <see cref="EmptyAsync"/>.</summary>
    public void Close() => _engine = null;

    /// <summary>Ends the connections of those inside, and waits until the engine has been told of each.</summary>
    public async Task EmptyAsync()
    {
        while (!_inside.IsEmpty)
        {
            foreach (FrameConnection connection in _inside.Values)
                connection.Close(new RemotingException(RemotingError.ConnectionLost, "This node leads no longer."));
            await Task.Delay(5).ConfigureAwait(false);
        }
    }

    /// <summary>Gives a connection to the engine.</summary>
    /// <param name="connection">Whose first frame is at hand.</param>
    /// <returns>Who is to handle that frame; null when there is no engine.</returns>
    public IConnectionHandler? LetIn(FrameConnection connection)
    {
        if (_engine is not { } engine)
            return null;
        var guest = new Guest(this, engine);
        connection.HandOver(guest);
        // Closed between the look and the entry: it is not left behind.
        if (_engine != engine)
            connection.Close(null);
        return guest;
    }

    /// <summary>Tells at once who leads: a connection that is served must not stand still for it.</summary>
    private ValueTask TellLeader(FrameConnection connection, in FrameHeader header)
    {
        NodeListener.Answer(connection, header, board.Known);
        return ValueTask.CompletedTask;
    }

    private sealed class Guest(EngineDoor door, IConnectionHandler engine) : IConnectionHandler
    {
        public void OnConnected(FrameConnection connection)
        {
            door._inside[connection.Id] = connection;
            engine.OnConnected(connection);
        }

        public void OnDisconnected(FrameConnection connection, Exception? cause)
        {
            engine.OnDisconnected(connection, cause);
            door._inside.TryRemove(connection.Id, out _);
        }

        public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload) =>
            header.Opcode == (byte)Opcode.WatchLeader
                ? door.TellLeader(connection, header)
                : engine.OnFrameAsync(connection, header, payload);
    }
}
