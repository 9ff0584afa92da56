using System.Collections;

namespace EQueue.Broker;

/// <summary>Items of an answer that are made one by one as they are written, and kept no longer.</summary>
internal sealed class LazyList<T>(int count, Func<int, T> make) : IReadOnlyList<T>
{
    public int Count => count;

    public T this[int index] => make(index);

    public IEnumerator<T> GetEnumerator()
    {
        for (int i = 0; i < count; i++)
            yield return make(i);
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
