namespace EQueue.Broker;

/// <summary>So many a minute, and how many more there were.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class MinuteBound(int most, TimeProvider time)
{
    private readonly Lock _gate = new();
    private long _minute;
    private int _taken;
    private long _passedOver;

    /// <summary>Takes one of this minute.</summary>
    /// <param name="passedOver">How many of an earlier minute were not taken; told once.</param>
    public bool TryTake(out long passedOver)
    {
        passedOver = 0;
        long minute = time.GetTimestamp() / (time.TimestampFrequency * 60);
        lock (_gate)
        {
            if (minute == _minute && _taken >= most)
            {
                _passedOver++;
                return false;
            }

            if (minute != _minute)
            {
                (passedOver, _passedOver) = (_passedOver, 0);
                (_minute, _taken) = (minute, 0);
            }

            _taken++;
            return true;
        }
    }
}
