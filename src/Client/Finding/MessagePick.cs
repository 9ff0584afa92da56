// Where a message stands in the order of a look-up.
using Place = (long StoredTimeMs, int Queue, long Offset);

namespace EQueue.Client;

/// <summary>Keeps the oldest, or the newest, of the messages that it is shown: at most so many.</summary>
internal sealed class MessagePick(int limit, bool newest)
{
    private readonly PriorityQueue<DetachedMessage, Place> _kept = new(
        newest ? Comparer<Place>.Default : Comparer<Place>.Create(static (one, other) => other.CompareTo(one)));

    /// <summary>Whether a message was left out.</summary>
    public bool HasMore { get; set; }

    /// <summary>Whether a message of that place would be kept.</summary>
    public bool Takes(Place place)
    {
        if (_kept.Count < limit || !_kept.TryPeek(out _, out (long StoredTimeMs, int Queue, long Offset) worst))
            return true;
        HasMore = true;
        return newest ? place.CompareTo(worst) > 0 : place.CompareTo(worst) < 0;
    }

    /// <summary>Keeps a message, in the place of the worst one if there is no room.</summary>
    public void Add(Place place, DetachedMessage message)
    {
        _kept.Enqueue(message, place);
        if (_kept.Count > limit)
            _kept.Dequeue();
    }

    /// <summary>What was kept, the oldest first.</summary>
    public DetachedMessage[] ToArray() =>
        [.. _kept.UnorderedItems.OrderBy(static item => item.Priority).Select(static item => item.Element)];
}
