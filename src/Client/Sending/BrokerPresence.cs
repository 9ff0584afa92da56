namespace EQueue.Client;

/// <summary>Whether a lane has a connection to its broker, and since when not.</summary>
/// <remarks>Changed under the lane's gate, read by any thread. Connections are told apart by their generations: a later
/// one has a higher number.</remarks>
internal sealed class BrokerPresence(TimeProvider time)
{
    private long _generation = -1;
    private long _lostGeneration = -1;
    private long _awaySince = time.GetTimestamp();
    private volatile bool _isAway = true;

    /// <summary>Whether there is no connection.</summary>
    public bool IsAway => _isAway;

    /// <summary>Whether there has been none for so long.</summary>
    public bool IsAwayFor(TimeSpan span) => _isAway && time.GetElapsedTime(Volatile.Read(ref _awaySince)) >= span;

    /// <summary>Whether a connection, or a later one, is known to be gone.</summary>
    public bool IsLost(long generation) => generation <= Volatile.Read(ref _lostGeneration);

    /// <summary>A connection is there.</summary>
    public void NoteFound(long generation)
    {
        _generation = generation;
        _isAway = false;
    }

    /// <summary>A connection is gone.</summary>
    /// <param name="generation">Which; null = the present one.</param>
    /// <returns>False if it is an older one, whose late failure says nothing about the present one.</returns>
    public bool TryNoteLost(long? generation)
    {
        if (generation < _generation)
            return false;
        Volatile.Write(ref _lostGeneration, generation ?? _generation);
        if (!_isAway)
            Volatile.Write(ref _awaySince, time.GetTimestamp());
        _isAway = true;
        return true;
    }
}
