using System.Collections.Concurrent;

namespace EQueue.MessageStore.Tests;

/// <summary>How often what happened. Thread-safe.</summary>
internal sealed class Histogram
{
    private readonly ConcurrentDictionary<string, long> _counts = new(StringComparer.Ordinal);

    public long this[string what] => _counts.GetValueOrDefault(what);

    public void Count(string what, long times = 1) =>
        _counts.AddOrUpdate(what, times, (_, before) => before + times);

    /// <summary>The sum over all names that begin so.</summary>
    public long Sum(string prefix) =>
        _counts.Where(pair => pair.Key.StartsWith(prefix, StringComparison.Ordinal)).Sum(pair => pair.Value);

    public override string ToString() => string.Join(
        Environment.NewLine,
        _counts.OrderBy(pair => pair.Key, StringComparer.Ordinal).Select(pair => $"{pair.Value,9:N0}  {pair.Key}"));
}
