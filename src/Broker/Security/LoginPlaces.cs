namespace EQueue.Broker;

/// <summary>Places of logins under way: in all, and a quarter of them for each source, so that one that begins logins
/// and does not finish them leaves places to others.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class LoginPlaces(int most)
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, int> _taken = new(StringComparer.Ordinal);
    private int _count;

    private int MostOfSource => (most + 3) / 4;

    public bool TryTake(string source)
    {
        lock (_gate)
        {
            int own = _taken.GetValueOrDefault(source);
            if (_count >= most || own >= MostOfSource)
                return false;
            _taken[source] = own + 1;
            _count++;
            return true;
        }
    }

    public void Give(string source)
    {
        lock (_gate)
        {
            _count--;
            if (--_taken[source] == 0)
                _taken.Remove(source);
        }
    }
}
