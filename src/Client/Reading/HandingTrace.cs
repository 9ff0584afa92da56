using System.Diagnostics;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>What listeners are told of the batches that are handed out.</summary>
/// <remarks>Used on the reader's thread alone; <paramref name="cursor"/> stands at the batch.</remarks>
internal sealed class HandingTrace(ILogger logger, string? group, MessageCursor cursor)
{
    /// <summary>Messages of the open batch before this offset were counted.</summary>
    private long _observedTo;
    private Activity? _processing;

    /// <summary>A batch was opened.</summary>
    public void Open() => _observedTo = cursor.FirstWanted.Value;

    /// <summary>The application is given the first of a batch, or the next of one.</summary>
    public void Begin()
    {
        if (!ClientTrace.IsListenedTo)
            return;
        QueueCursor queue = cursor.Queue;
        _processing = ClientTrace.StartProcess(
            logger,
            queue.Topic,
            queue.Number,
            group,
            cursor.ReadContexts(ClientTrace.MaxContexts),
            queue.Session.Link.Address);
    }

    /// <summary>The application is through with the open batch, or leaves it.</summary>
    public void End()
    {
        if (_processing is null && !ClientMeter.Consumed.Enabled)
            return;
        Activity? span = _processing;
        _processing = null;
        long messages = TakeHandedOut();
        if (messages == 0)
            return; // a span of nothing is never ended, and so never told
        QueueCursor queue = cursor.Queue;
        ClientMeter.CountConsumed(logger, messages, queue.Topic, group, queue.Session.Link.Address);
        if (span is not null)
            ClientTrace.EndProcess(logger, span, messages);
    }

    /// <summary>Messages of the open batch that were handed out since this was last asked.</summary>
    private long TakeHandedOut()
    {
        long from = _observedTo;
        long to = Math.Min(cursor.Queue.Delivered, cursor.BatchEnd.Value);
        if (to <= from)
            return 0;
        _observedTo = to;
        return cursor.CountWanted(from, to);
    }
}
