using System.Diagnostics.CodeAnalysis;

namespace EQueue.Remoting;

/// <content>Whether the handler knows the peer, and the connection's place in the server.</content>
public sealed partial class ServerConnection
{
    private long _stayBegan;
    private volatile bool _isAdmitted;
    private Lobby? _lobby;
    private LinkedListNode<ServerConnection>? _lobbyPlace;
    private int _hasLostPlace;

    /// <summary>What its peer's address holds of the server.</summary>
    internal PeerShare Share { get; }

    /// <summary>The handler knows who the peer is: from here on the connection may stay, and its frames may be as long
    /// as the server's options say. For <see cref="IConnectionHandler.OnFrameAsync"/>; a second call does
    /// nothing.</summary>
    public void Admit()
    {
        if (_isAdmitted)
            return;
        _reader.MaxFrameBytes = _options.MaxFrameBytes;
        _isAdmitted = true;
        LeaveLobby();
    }

    /// <summary>Gives a peer that is not known more time: once the wait is over it has the admission timeout again. Its
    /// frames stay short, and it makes room when others need its place. For
    /// <see cref="IConnectionHandler.OnFrameAsync"/>.</summary>
    /// <param name="wait">How long the peer may be kept waiting for an answer.</param>
    public void Extend(TimeSpan wait) => Volatile.Write(
        ref _stayBegan, _time.GetTimestamp() + (long)(wait.TotalSeconds * _time.TimestampFrequency));

    /// <summary>Waits in the lobby until it is admitted or ends. Before it starts.</summary>
    internal void Enter(Lobby lobby)
    {
        if (_isAdmitted)
            return;
        _lobby = lobby;
        _lobbyPlace = lobby.Enter(this);
    }

    /// <summary>Is out of the lobby from here on.</summary>
    internal void LeaveLobby()
    {
        if (_lobbyPlace is not null)
            _lobby!.Leave(_lobbyPlace);
    }

    /// <summary>Whether the place among the server's connections is to be given back now: once.</summary>
    internal bool TryLosePlace() => Interlocked.Exchange(ref _hasLostPlace, 1) == 0;

    /// <summary>The frame that the peer has begun, if it holds receive memory and the peer alone is to blame that it
    /// does not end. For one thread at a time.</summary>
    /// <param name="leastRate">Bytes per second below which it has stalled.</param>
    /// <param name="half">The frame.</param>
    internal bool TryFindHalfFrame(int leastRate, [NotNullWhen(true)] out HalfFrame? half)
    {
        int bytes = _input.HeldBytes;
        bool isPeers = bytes > 0 && _partial.IsThere && Volatile.Read(ref _isClosed) == 0 && !IsHeldUp;
        half = isPeers
            ? new HalfFrame(this, bytes, _partial.Age, _partial.Rate, _partial.HasStalled(leastRate))
            : null;
        return isPeers;
    }

    /// <summary>Closes a peer that has not said who it is in time.</summary>
    /// <returns>Whether it did.</returns>
    private bool EndUnadmitted()
    {
        TimeSpan stayed = _time.GetElapsedTime(Volatile.Read(ref _stayBegan));
        if (_isAdmitted || stayed < _options.AdmissionTimeout)
            return false;
        Log.NotAdmitted(_logger, Id, RemoteEndPoint, _options.AdmissionTimeout);
        Close(new RemotingException(
            RemotingError.Timeout, $"The peer did not say who it is within {_options.AdmissionTimeout}."));
        return true;
    }
}
