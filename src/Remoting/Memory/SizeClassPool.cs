using System.Numerics;

namespace EQueue.Remoting;

/// <summary>Keeps returned objects by the size class (power of two) of the memory that they hold.</summary>
/// <remarks>
/// Thread-safe. Bounded: what would lift the kept bytes above the bound is left to the garbage collector, and so is
/// what is larger than the largest class. Beyond the bound each thread keeps the small object that it returned last:
/// a thread that fills one after the other finds the same memory in its cache and an uncontended lock.
/// </remarks>
internal sealed class SizeClassPool<T>(Func<int, T> create, int minBytes, int maxBytes, long maxKeptBytes)
    where T : class
{
    private const int MaxSpareBytes = 16 * 1024;

    [ThreadStatic]
    private static Spare _spare;

    private readonly Shelf[] _shelves = CreateShelves(minBytes, maxBytes);
    private long _keptBytes;

    /// <summary>Bytes that wait to be rented again.</summary>
    public long KeptBytes => Volatile.Read(ref _keptBytes);

    /// <summary>The capacity that a request for so many bytes gets.</summary>
    public int CapacityOf(int bytes)
    {
        if (bytes <= minBytes)
            return minBytes;
        return bytes > maxBytes ? bytes : (int)BitOperations.RoundUpToPowerOf2((uint)bytes);
    }

    /// <summary>An object of at least so many bytes; its content is arbitrary.</summary>
    public T Rent(int bytes)
    {
        int capacity = CapacityOf(bytes);
        if (capacity > maxBytes)
            return create(capacity);
        if (_spare.Bytes == capacity && _spare.Pool == this)
        {
            T spare = _spare.Item!;
            _spare = default;
            return spare;
        }

        T? kept = _shelves[IndexOf(capacity)].Take();
        if (kept is null)
            return create(capacity);
        Interlocked.Add(ref _keptBytes, -capacity);
        return kept;
    }

    /// <summary>Gives an object of this capacity back.</summary>
    public void Return(T item, int capacity)
    {
        if (capacity > maxBytes || capacity != CapacityOf(capacity))
            return;
        if (_spare.Item is null && capacity <= MaxSpareBytes)
        {
            _spare = new Spare(this, item, capacity);
            return;
        }

        if (Interlocked.Add(ref _keptBytes, capacity) > maxKeptBytes)
            Interlocked.Add(ref _keptBytes, -capacity);
        else
            _shelves[IndexOf(capacity)].Put(item);
    }

    /// <summary>Lets go of what waits to be rented again.</summary>
    public void Clear()
    {
        for (int i = 0; i < _shelves.Length; i++)
        {
            int count = _shelves[i].Clear();
            Interlocked.Add(ref _keptBytes, -((long)minBytes << i) * count);
        }
    }

    private static Shelf[] CreateShelves(int minBytes, int maxBytes)
    {
        var shelves = new Shelf[BitOperations.Log2((uint)maxBytes) - BitOperations.Log2((uint)minBytes) + 1];
        for (int i = 0; i < shelves.Length; i++)
            shelves[i] = new Shelf();
        return shelves;
    }

    private int IndexOf(int capacity) => BitOperations.Log2((uint)capacity) - BitOperations.Log2((uint)minBytes);

    /// <summary>What this thread returned last.</summary>
    private readonly record struct Spare(SizeClassPool<T>? Pool, T? Item, int Bytes);

    private sealed class Shelf
    {
        private readonly Lock _lock = new();
        private T?[] _items = new T?[8];
        private int _count;

        public T? Take()
        {
            lock (_lock)
            {
                if (_count == 0)
                    return null;
                T? item = _items[--_count];
                _items[_count] = null;
                return item;
            }
        }

        public int Clear()
        {
            lock (_lock)
            {
                int count = _count;
                Array.Clear(_items, 0, count);
                _count = 0;
                return count;
            }
        }

        public void Put(T item)
        {
            lock (_lock)
            {
                if (_count == _items.Length)
                    Array.Resize(ref _items, _count * 2);
                _items[_count++] = item;
            }
        }
    }
}
