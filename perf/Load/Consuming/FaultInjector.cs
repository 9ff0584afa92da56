namespace EQueue.Load.Consuming;

/// <summary>Looks at one message or batch of a queue.</summary>
/// <returns>True if it is one of the sampled ones.</returns>
internal delegate bool Observer(int queue, ReadOnlySpan<byte> bytes);

/// <summary>
/// Stands between a consumer and its checker and, once each as asked for, loses a message, shows one twice, and shows
/// one after the next of its queue. Proves that a wrong delivery is found out by the program as it runs.
/// </summary>
internal sealed class FaultInjector(Faults faults, Observer observe)
{
    private const int FirstStrikeAt = 20;

    private readonly Queue<Faults> _strikes = new(
        new[] { Faults.Missing, Faults.Duplicate, Faults.Reorder }.Where(each => faults.HasFlag(each)));

    private int _count;
    private int _heldQueue;
    private byte[]? _held;

    public bool Observe(int queue, ReadOnlySpan<byte> bytes)
    {
        if (_held is not null && queue == _heldQueue)
        {
            bool isSampled = observe(queue, bytes);
            observe(_heldQueue, _held);
            _held = null;
            return isSampled;
        }

        if (_strikes.Count == 0 || ++_count < FirstStrikeAt)
            return observe(queue, bytes);
        switch (_strikes.Dequeue())
        {
            case Faults.Missing:
                return false;
            case Faults.Duplicate:
                observe(queue, bytes);
                return observe(queue, bytes);
            default:
                _held = bytes.ToArray();
                _heldQueue = queue;
                return false;
        }
    }
}
