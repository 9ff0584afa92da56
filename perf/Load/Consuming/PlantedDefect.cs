using EQueue.Load.Measuring;

namespace EQueue.Load.Consuming;

/// <summary>
/// Stands between a consumer and its checker and, once, loses a message, shows one twice, or shows one after the next
/// of its queue. Proves that a wrong delivery is found out by the program as it runs.
/// </summary>
internal sealed class PlantedDefect(Plant plant, SequenceChecker checker)
{
    private const int StrikeAt = 20;

    private int _count;
    private int _heldQueue;
    private byte[]? _held;
    private bool _done;

    public bool Observe(int queue, ReadOnlySpan<byte> body)
    {
        if (_held is not null && queue == _heldQueue)
        {
            var isSampled = checker.Observe(queue, body);
            checker.Observe(_heldQueue, _held);
            _held = null;
            return isSampled;
        }

        if (_done || ++_count < StrikeAt)
            return checker.Observe(queue, body);
        _done = true;
        switch (plant)
        {
            case Plant.Missing:
                return false;
            case Plant.Duplicate:
                checker.Observe(queue, body);
                return checker.Observe(queue, body);
            default:
                _held = body.ToArray();
                _heldQueue = queue;
                return false;
        }
    }
}
