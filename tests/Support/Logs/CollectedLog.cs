using System.Collections.Concurrent;

namespace EQueue.Support;

/// <summary>Keeps every log line, so that tests can ask for it, or for its absence.</summary>
public sealed class CollectedLog : LogSink
{
    private readonly ConcurrentQueue<LogLine> _lines = new();

    public IReadOnlyList<LogLine> Lines => [.. _lines];

    public IReadOnlyList<string> Texts => [.. _lines.Select(line => line.Text)];

    public int CountOf(int id) => _lines.Count(line => line.Id == id);

    protected override void OnLine(LogLine line) => _lines.Enqueue(line);
}
