namespace EQueue.Broker;

/// <summary>Figures that are computed once for all instruments that are read together.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class MeasuringRound<T>(Func<T> measure, TimeProvider time)
    where T : class
{
    /// <summary>Instruments that are read further apart than this are not read together.</summary>
    private static readonly TimeSpan Longest = TimeSpan.FromMilliseconds(100);

    private readonly Lock _gate = new();
    private readonly HashSet<object> _shownTo = [];
    private T? _figures;
    private long _measuredAt;

    /// <summary>The figures of one moment.</summary>
    /// <param name="instrument">Who asks; asking again begins a new round.</param>
    public T Show(object instrument)
    {
        lock (_gate)
        {
            bool isNew = _figures is null || time.GetElapsedTime(_measuredAt) > Longest;
            if (!_shownTo.Add(instrument) || isNew)
            {
                _figures = measure();
                _measuredAt = time.GetTimestamp();
                _shownTo.Clear();
                _shownTo.Add(instrument);
            }

            return _figures!;
        }
    }
}
