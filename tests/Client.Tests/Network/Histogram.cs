using System.Collections.Concurrent;

namespace EQueue.Client.Tests.Network;

/// <summary>How often what happened. Thread-safe.</summary>
internal sealed class Histogram
{
    private readonly ConcurrentDictionary<string, long> _counts = new(StringComparer.Ordinal);

    public long this[string what] => _counts.GetValueOrDefault(what);

    public void Count(string what, long times = 1) =>
        _counts.AddOrUpdate(what, times, (_, before) => before + times);

    public override string ToString() => string.Join(
        Environment.NewLine,
        _counts.OrderBy(pair => pair.Key, StringComparer.Ordinal).Select(pair => $"{pair.Value,9:N0}  {pair.Key}"));
}
