using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>A queue of the model: a list of batches.</summary>
internal sealed record ModelQueue(uint Id, TopicId Topic, int Number)
{
    public List<MessagesEvent> Batches { get; } = [];

    /// <summary>The first offset that may be read.</summary>
    public long Start { get; set; }

    public long End => Batches.Count == 0 ? 0 : Batches[^1].EndOffset;

    /// <summary>The batch that holds an offset below the end.</summary>
    public int IndexOf(long offset)
    {
        int low = 0, high = Batches.Count - 1;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (Batches[middle].EndOffset <= offset)
                low = middle + 1;
            else
                high = middle;
        }

        return low;
    }
}

/// <summary>A producer of the model: all that it stored under its epoch, by queue.</summary>
internal sealed class ModelProducer(long id)
{
    public long Id => id;

    public short Epoch { get; set; } = -1;

    public long LastSeenMs { get; set; }

    public Dictionary<uint, List<MessagesEvent>> Stored { get; } = [];
}

/// <summary>What a store must be after a number of entries: plain collections, no files, no threads.</summary>
internal sealed class ModelState
{
    /// <summary>The batches of a producer in a queue that the store promises to know again.</summary>
    public const int Window = 16;

    public Dictionary<uint, ModelQueue> Queues { get; } = [];

    public Dictionary<string, string> Machine { get; } = [];

    public Dictionary<long, ModelProducer> Producers { get; } = [];

    public long NextProducer { get; private set; }

    /// <summary>Every queue id that ever was.</summary>
    public HashSet<uint> KnownIds { get; } = [];

    public void Open(ModelQueue queue)
    {
        Assert.True(KnownIds.Add(queue.Id), $"queue id {queue.Id} was given out twice");
        Queues.Add(queue.Id, queue);
    }

    public void Remove(uint queue) => Queues.Remove(queue);

    public void SetKey(string key, string? value)
    {
        if (value is null)
            Machine.Remove(key);
        else
            Machine[key] = value;
    }

    public void SetProducer(ProducerSession session, long nowMs, long forgotten)
    {
        NextProducer = Math.Max(NextProducer, session.Id + 1);
        if (!Producers.TryGetValue(session.Id, out ModelProducer? producer))
            Producers.Add(session.Id, producer = new ModelProducer(session.Id));
        producer.Epoch = session.Epoch;
        producer.Stored.Clear();
        producer.LastSeenMs = Math.Max(producer.LastSeenMs, nowMs);
        Producers.Remove(forgotten);
    }

    public void Store(MessagesEvent batch)
    {
        Queues[batch.Queue].Batches.Add(batch);
        ProducerSession session = batch.Producer;
        if (!session.IsIdempotent)
            return;
        ModelProducer producer = Producers[session.Id];
        if (!producer.Stored.TryGetValue(batch.Queue, out List<MessagesEvent>? stored))
            producer.Stored.Add(batch.Queue, stored = []);
        stored.Add(batch);
        producer.LastSeenMs = Math.Max(producer.LastSeenMs, batch.StoredMs);
    }

    /// <summary>What the store must answer to a batch of a producer; the batch it repeats, if that is still
    /// known.</summary>
    public (ErrorCode Error, MessagesEvent? Original) Check(in RecordBatchHeader header, uint queue)
    {
        ProducerSession session = header.Producer;
        if (!Producers.TryGetValue(session.Id, out ModelProducer? producer) || session.Epoch > producer.Epoch)
            return (ErrorCode.UnknownProducer, null);
        if (session.Epoch < producer.Epoch)
            return (ErrorCode.ProducerFenced, null);
        List<MessagesEvent> stored = producer.Stored.GetValueOrDefault(queue) ?? [];
        int next = NextSequence(stored);
        if (header.BaseSequence == next)
            return (ErrorCode.None, null);
        foreach (MessagesEvent one in stored.TakeLast(Window))
        {
            RecordBatch.TryReadHeader(one.Batch, out RecordBatchHeader known, out _);
            if (one.BaseSequence == header.BaseSequence && one.Count == header.RecordsCount && known.Crc == header.Crc)
                return (ErrorCode.DuplicateSequence, one);
        }

        return (ErrorCode.OutOfOrderSequence, null);
    }

    public static int NextSequence(List<MessagesEvent> stored) => stored.Count == 0 ? 0 : stored[^1].LastSequence + 1;

    /// <summary>The state machine as <see cref="MemoryState"/> writes it.</summary>
    public string DescribeMachine() =>
        string.Join(',', Machine.Select(pair => $"{pair.Key}={pair.Value}").Order(StringComparer.Ordinal));
}
