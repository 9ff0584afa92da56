using System.Collections.Frozen;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <content>Which queues may be written and read (docs/architecture.md, "Draining").</content>
internal sealed partial class TopicCatalogue
{
    private FrozenSet<QueueId> _unreadable = [];

    /// <summary>Whether a queue may be read. Free of locks; costs nothing while all may.</summary>
    public bool IsReadable(QueueId queue)
    {
        FrozenSet<QueueId> unreadable = Volatile.Read(ref _unreadable);
        return unreadable.Count == 0 || !unreadable.Contains(queue);
    }

    /// <summary>Says which queues of a topic may be written and read; when this returns it holds.</summary>
    /// <exception cref="EQueueException">UnknownTopic, InvalidArgument.</exception>
    public async Task<Topic> AlterQueuesAsync(AlterQueuesRequest request, CancellationToken cancellationToken)
    {
        await _changes.WaitAsync(cancellationToken);
        try
        {
            Topic topic = Find(request.Topic);
            TopicRecord record = topic.Record.With(
                TopicRules.CheckQueues(request, topic.Queues.Length), request.Mask, request.State);
            var altered = new Topic(record, topic.Queues, topic.Backlog, topic.Traffic);
            QueueId[] closing = [.. altered.Unwritable().Except(topic.Unwritable())];
            QueueId[] opening = [.. topic.Unwritable().Except(altered.Unwritable())];

            // What enters the log enters it before the record, so that a replay finds nothing behind.
            _store.SetWritable(closing, false);
            try
            {
                await _store.AppendStateAsync([record.ToEntry()], CancellationToken.None);
            }
            catch
            {
                _store.SetWritable(closing, true);
                throw;
            }

            Publish(altered);
            _store.SetWritable(opening, true);
            _logger.QueuesAltered(
                topic.Name, altered.Unwritable().Count(), altered.Unreadable.Count, altered.Queues.Length);
            return altered;
        }
        finally
        {
            _changes.Release();
        }
    }

    /// <summary>Takes over which queues of a topic may not be read. One change at a time.</summary>
    private void NoteReadable(Topic topic, FrozenSet<QueueId> unreadable)
    {
        if (_unreadable.Count > 0 || unreadable.Count > 0)
            Volatile.Write(ref _unreadable, _unreadable.Except(topic.Queues).Concat(unreadable).ToFrozenSet());
    }
}
