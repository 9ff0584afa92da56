using System.Net;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>Counts log events within windows of time and says which are too many. Thread-safe.</summary>
internal sealed class EventCounts(TimeProvider time)
{
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(10);

    /// <summary>Addresses that are told apart for one event.</summary>
    private const int MostAddresses = 1_000;

    private readonly Lock _lock = new();
    private readonly Dictionary<int, Count> _counts = [];
    private long _since;
    private int _warnings;
    private int _others;

    /// <summary>Counts an event.</summary>
    /// <param name="level">Its level.</param>
    /// <param name="id">Its id.</param>
    /// <param name="state">Its values: an <see cref="EndPoint"/> among them says from where it came.</param>
    /// <param name="held">Of the window that has ended before it; empty mostly.</param>
    /// <param name="isFirstHeld">Whether it is the first of its window that is not to be logged.</param>
    /// <returns>Whether it is to be logged.</returns>
    public bool TryPass(
        LogLevel level, int id, object? state, out IReadOnlyList<HeldEvents> held, out bool isFirstHeld)
    {
        bool isWarning = level >= LogLevel.Warning;
        lock (_lock)
        {
            held = _since != 0 && time.GetElapsedTime(_since) >= Window ? End() : [];
            if (_since == 0)
                _since = time.GetTimestamp();
            if (!_counts.TryGetValue(id, out Count? count))
                _counts.Add(id, count = new Count());
            int most = isWarning ? GuardedLogger.MostWarningsOfAnEvent : GuardedLogger.MostOthersOfAnEvent;
            int mostOfAll = isWarning ? GuardedLogger.MostWarnings : GuardedLogger.MostOthers;
            int all = isWarning ? _warnings : _others;
            isFirstHeld = false;
            if (count.Passed < most && all < mostOfAll)
            {
                count.Passed++;
                if (isWarning)
                    _warnings++;
                else
                    _others++;
                return true;
            }

            isFirstHeld = _counts.Values.All(static one => one.Held == 0);
            count.Hold(level, AddressIn(state));
            return false;
        }
    }

    /// <summary>Ends the window.</summary>
    /// <returns>What was not logged in it.</returns>
    public IReadOnlyList<HeldEvents> EndWindow()
    {
        lock (_lock)
            return End();
    }

    private List<HeldEvents> End()
    {
        List<HeldEvents> held =
        [
            .. _counts.Where(static entry => entry.Value.Held > 0).Select(static entry => new HeldEvents(
                entry.Value.Level, entry.Key, entry.Value.Held, entry.Value.Addresses.Count)),
        ];
        _counts.Clear();
        (_since, _warnings, _others) = (0, 0, 0);
        return held;
    }

    private static IPAddress? AddressIn(object? state)
    {
        if (state is not IEnumerable<KeyValuePair<string, object?>> values)
            return null;
        foreach (KeyValuePair<string, object?> value in values)
        {
            if (value.Value is EndPoint peer)
                return PeerHost.AddressOf(peer);
        }

        return null;
    }

    /// <summary>Events of one id that were not logged.</summary>
    /// <param name="Level">Their level.</param>
    /// <param name="Id">Their id.</param>
    /// <param name="Times">How many.</param>
    /// <param name="Addresses">From how many addresses, 1,000 at most; 0 = they do not say.</param>
    public readonly record struct HeldEvents(LogLevel Level, int Id, long Times, int Addresses);

    private sealed class Count
    {
        public int Passed { get; set; }

        public long Held { get; private set; }

        public LogLevel Level { get; private set; }

        public HashSet<IPAddress> Addresses { get; } = [];

        public void Hold(LogLevel level, IPAddress? address)
        {
            Held++;
            Level = level;
            if (address is not null && Addresses.Count < MostAddresses)
                Addresses.Add(address);
        }
    }
}
