using System.Diagnostics;

namespace EQueue.Client;

/// <content>What listeners are told, batch by batch.</content>
internal sealed partial class MessageStream
{
    /// <summary>Messages of the open batch before this offset were counted.</summary>
    private long _observedTo;
    private Activity? _processing;

    /// <summary>Whose member reads; null for a reader of named queues.</summary>
    public string? Group { get; }

    /// <summary>Bytes that were fetched and not read yet, by broker.</summary>
    public IEnumerable<KeyValuePair<ServerAddress, long>> Prefetched()
    {
        FetchSession[] sessions;
        lock (_gate)
            sessions = [.. _sessions.Values, .. _left];
        return sessions.Select(
            static session => KeyValuePair.Create(session.Link.Address, session.BufferedBytes));
    }

    /// <summary>Messages behind the last one processed, as far as the last fetches told, by topic.</summary>
    public IEnumerable<KeyValuePair<(string Topic, string? Group), long>> Backlogs() => Cursors.Select(
        cursor => KeyValuePair.Create(
            (cursor.Topic, Group), Math.Max(0, cursor.VisibleEnd - cursor.Processed)));

    /// <summary>The application is given the first of a batch, or goes on within one.</summary>
    private void BeginHanding()
    {
        if (!ClientTrace.IsListenedTo)
            return;
        QueueCursor queue = _cursor.Queue;
        _processing = ClientTrace.StartProcess(
            _logger,
            queue.Topic,
            queue.Number,
            Group,
            _cursor.ReadContexts(ClientTrace.MaxContexts),
            queue.Session.Link.Address);
    }

    /// <summary>The application is through with the open batch, or leaves it.</summary>
    private void EndHanding()
    {
        if (_processing is null && !ClientMeter.Consumed.Enabled)
            return;
        Activity? span = _processing;
        _processing = null;
        long messages = TakeHandedOut();
        if (messages == 0)
            return; // a span of nothing is never ended, and so never told
        QueueCursor queue = _cursor.Queue;
        ClientMeter.CountConsumed(_logger, messages, queue.Topic, Group, queue.Session.Link.Address);
        if (span is not null)
            ClientTrace.EndProcess(_logger, span, messages);
    }

    /// <summary>Messages of the open batch that were handed out since this was last asked.</summary>
    private long TakeHandedOut()
    {
        long from = _observedTo;
        long to = Math.Min(_cursor.Queue.Delivered, _cursor.BatchEnd.Value);
        if (to <= from)
            return 0;
        _observedTo = to;
        return _cursor.CountWanted(from, to);
    }
}
