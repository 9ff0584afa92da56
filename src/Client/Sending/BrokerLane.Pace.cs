namespace EQueue.Client;

/// <content>
/// Over a long way a batch that is not full does not wait until nothing is in flight, which would be half a round trip
/// on average: while there is room in flight requests leave evenly, as many a round trip as may be in flight. How long
/// the way is the shortest round trip tells: what a broker at work adds to it is a reason to gather more.
/// </content>
internal sealed partial class BrokerLane
{
    /// <summary>On a way that takes less, there and back, quiet comes soon enough.</summary>
    private static readonly TimeSpan LongWay = TimeSpan.FromMilliseconds(8);

    /// <summary>For how long a round trip counts, and as long again at most, while answers come: ways change.</summary>
    private static readonly TimeSpan TripWindow = TimeSpan.FromSeconds(10);

    private long _shortestTrip = long.MaxValue;
    private long _shortestTripBefore = long.MaxValue;
    private long _tripsSince;
    private long _lastSentAt;

    /// <summary>Time between requests that carry batches that are not full; 0 = those wait for quiet.</summary>
    private long _pace;

    /// <summary>A request was answered. Under the gate.</summary>
    private void NoteTrip(long sentAt)
    {
        // The broker lets requests of a bounded topic wait for room: that says nothing of the way.
        if (_isBounded)
            return;
        long now = _time.GetTimestamp();
        if (now - _tripsSince > ToTicks(TripWindow))
        {
            _shortestTripBefore = _shortestTrip;
            _shortestTrip = long.MaxValue;
            _tripsSince = now;
        }

        _shortestTrip = Math.Min(_shortestTrip, now - sentAt);
        long way = Math.Min(_shortestTrip, _shortestTripBefore);
        _pace = way >= ToTicks(LongWay) ? way / _options.MaxInFlight : 0;
    }

    /// <summary>Whether open batches may leave because the last request did so long ago. What continuations still add
    /// to is waited for. Under the gate.</summary>
    private bool IsPaceDue(long now) => _pace > 0 && _holds == 0 && now - _lastSentAt >= _pace;

    /// <summary>Wakes the lane when open batches may leave next; with no room in flight the next answer does, and while
    /// there are holds their end. Under the gate.</summary>
    private void ArmPace()
    {
        if (_pace > 0 && _holds == 0 && _inFlight < _options.MaxInFlight)
            Arm(_lastSentAt + _pace);
    }
}
