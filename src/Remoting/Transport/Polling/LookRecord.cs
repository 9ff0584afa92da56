namespace EQueue.Remoting;

/// <summary>How often something came within the moment for which a thread looks before it has the system
/// asked.</summary>
/// <remarks>Looking takes the core from whoever has work for it, and spares a sleep and a wake-up when something comes.
/// A peer that sends ten thousand times a second, evenly, never comes within that moment. Rarely two threads note
/// something at once; then one of the notes is lost.</remarks>
internal struct LookRecord
{
    private const int Most = 32;
    private const int OfOneFound = 16;

    /// <summary>A peer that changed its ways is noticed by one look in so many waits.</summary>
    private const int WaitsPerTrial = 16;

    private int _credit = OfOneFound;
    private int _passed;

    public LookRecord()
    {
    }

    /// <summary>Whether to look at this wait: while one look in seventeen finds something, and now and then.</summary>
    public bool AreWorthwhile => _credit > 0 || ++_passed >= WaitsPerTrial;

    /// <summary>Notes how a look ended.</summary>
    public void Note(bool isThere)
    {
        _passed = 0;
        _credit = isThere ? Math.Min(_credit + OfOneFound, Most) : Math.Max(_credit - 1, 0);
    }
}
