using System.Collections.Concurrent;

namespace EQueue.Broker.Tests;

/// <summary>Keeps what is written down.</summary>
internal sealed class AuditLines : IAuditSink
{
    private readonly ConcurrentQueue<AuditRecord> _lines = new();

    public AuditRecord[] Lines => [.. _lines];

    /// <inheritdoc/>
    public long Lost { get; set; }

    public void Write(in AuditRecord record) => _lines.Enqueue(record);
}
