using System.Collections.Concurrent;
using System.Diagnostics;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Client.Tests.Network;

/// <summary>What the clients of one run logged last, to be printed when it fails.</summary>
internal sealed class RunLog() : LogSink(LogLevel.Information)
{
    private const int MaxLines = 200;

    private readonly ConcurrentQueue<string> _lines = new();
    private readonly long _started = Stopwatch.GetTimestamp();

    public override string ToString() => string.Join(Environment.NewLine, _lines);

    public void Note(string line)
    {
        _lines.Enqueue($"{Stopwatch.GetElapsedTime(_started).TotalMilliseconds,8:F0} ms  {line}");
        while (_lines.Count > MaxLines)
            _lines.TryDequeue(out _);
    }

    protected override void OnLine(LogLine line) => Note($"{line.Id} {line.Text}");
}
