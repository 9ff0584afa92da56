namespace EQueue.Remoting;

/// <summary>Whether the handler knows a connection's peer, and the connection's place in the server.</summary>
/// <remarks>The receive loop admits and extends; the server's timer and the thread that accepts look.</remarks>
internal sealed class ConnectionStay
{
    private readonly TimeSpan _timeout;
    private readonly TimeProvider _time;
    private long _began;
    private volatile bool _isAdmitted;
    private Lobby? _lobby;
    private LinkedListNode<Connection>? _place;
    private int _hasLostPlace;

    /// <param name="timeout">How long a peer may stay that is not known; zero = every peer is known.</param>
    /// <param name="time">Measures it.</param>
    public ConnectionStay(TimeSpan timeout, TimeProvider time)
    {
        _timeout = timeout;
        _time = time;
        _began = time.GetTimestamp();
        _isAdmitted = timeout == TimeSpan.Zero;
    }

    /// <summary>Whether the peer is known.</summary>
    public bool IsAdmitted => _isAdmitted;

    /// <summary>Whether the peer has had its time and is not known.</summary>
    public bool IsOver => !_isAdmitted && _time.GetElapsedTime(Volatile.Read(ref _began)) >= _timeout;

    /// <summary>The peer is known from here on.</summary>
    public void Admit()
    {
        _isAdmitted = true;
        LeaveLobby();
    }

    /// <summary>The peer's time begins anew after this wait.</summary>
    public void Extend(TimeSpan wait) => Volatile.Write(
        ref _began, _time.GetTimestamp() + (long)(wait.TotalSeconds * _time.TimestampFrequency));

    /// <summary>The connection waits in the lobby until its peer is known or it ends. Before it starts.</summary>
    public void Enter(Lobby lobby, Connection connection)
    {
        if (_isAdmitted)
            return;
        _lobby = lobby;
        _place = lobby.Enter(connection);
    }

    /// <summary>The connection is out of the lobby from here on.</summary>
    public void LeaveLobby()
    {
        if (_place is not null)
            _lobby!.Leave(_place);
    }

    /// <summary>Whether the place among the server's connections is to be given back now: once.</summary>
    public bool TryLosePlace() => Interlocked.Exchange(ref _hasLostPlace, 1) == 0;
}
