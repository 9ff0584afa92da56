using System.Diagnostics.CodeAnalysis;

namespace EQueue.Cluster;

/// <summary>What others have put down for one thread, in order.</summary>
/// <remarks>Who takes sleeps at once when there is nothing: spinning would cost a busy machine more than a wake-up
/// does. Thread-safe.</remarks>
internal sealed class Mailbox<T>
{
    private readonly Queue<T> _items = [];
    private bool _isClosed;

    /// <summary>Whether nothing is in it.</summary>
    public bool IsEmpty
    {
        get
        {
            lock (_items)
                return _items.Count == 0;
        }
    }

    /// <summary>Whether it was closed and everything in it was taken.</summary>
    public bool IsDone
    {
        get
        {
            lock (_items)
                return _isClosed && _items.Count == 0;
        }
    }

    /// <summary>Puts something in; nothing happens when it is closed.</summary>
    public void Post(T item)
    {
        lock (_items)
        {
            if (_isClosed)
                return;
            _items.Enqueue(item);
            Monitor.Pulse(_items);
        }
    }

    /// <summary>Takes the oldest thing. One thread only.</summary>
    /// <param name="item">What was in it.</param>
    /// <param name="wait">How long to wait for something; <see cref="Timeout.InfiniteTimeSpan"/> without end.</param>
    /// <returns>False when nothing came in time, or it is closed and empty.</returns>
    public bool TryTake([MaybeNullWhen(false)] out T item, TimeSpan wait)
    {
        lock (_items)
        {
            if (_items.Count == 0 && !_isClosed && wait != TimeSpan.Zero)
                Monitor.Wait(_items, wait);
            return _items.TryDequeue(out item);
        }
    }

    /// <summary>Takes nothing more in. What is in it can still be taken.</summary>
    public void Close()
    {
        lock (_items)
        {
            _isClosed = true;
            Monitor.Pulse(_items);
        }
    }
}
