using System.Collections.Concurrent;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <summary>A batch as it came.</summary>
internal sealed record FakeBatch(
    string Topic, uint Queue, ProducerSession Session, int Sequence, int Records, int Bytes, int FirstBody);

/// <summary>A produce request as it came.</summary>
internal sealed record FakeRequest(FrameConnection Connection, int DeadlineMs, IReadOnlyList<FakeBatch> Batches)
{
    public int Records => Batches.Sum(static batch => batch.Records);

    public bool IsFor(string topic) => Batches.Any(batch => batch.Topic == topic);
}

/// <content>Topics with a bound: they are marked in routes, described, and refused as the test says.</content>
internal sealed partial class FakeBroker
{
    private const int IdsPerTopic = 100;

    private readonly List<string> _topics = [];
    private readonly List<FakeRequest> _requests = [];
    private readonly List<byte[]> _late = [];

    /// <summary>What topics are set to; one that is missing bounds nothing.</summary>
    public ConcurrentDictionary<string, TopicSettings> Settings { get; } = [];

    /// <summary>What to do with a produce request; null = as <see cref="Script"/> says.</summary>
    public Func<FakeRequest, Verdict>? Judge { get; set; }

    /// <summary>What a batch meets that is not stored yet; None stores it.</summary>
    public Func<FakeBatch, ErrorCode> MeetBatch { get; set; } = static _ => ErrorCode.None;

    /// <summary>Ids of the queues that routes tell to take no messages, and that take none.</summary>
    public ConcurrentDictionary<uint, bool> Unwritable { get; } = [];

    /// <summary>When refused batches may come again.</summary>
    public int RetryAfterMs { get; set; }

    /// <summary>Every produce request so far.</summary>
    public IReadOnlyList<FakeRequest> Requests
    {
        get
        {
            lock (_lock)
                return [.. _requests];
        }
    }

    /// <summary>The requests so far that hold batches of a topic.</summary>
    public IReadOnlyList<FakeRequest> RequestsFor(string topic) => [.. Requests.Where(one => one.IsFor(topic))];

    /// <summary>What is stored of a topic, in the order of its first queue, then of the second and so on.</summary>
    public IReadOnlyList<int> Bodies(string topic)
    {
        uint first = FirstIdOf(topic);
        lock (_lock)
        {
            return [.. Stored.Where(queue => queue.Key >= first && queue.Key < first + IdsPerTopic)
                .OrderBy(static queue => queue.Key).SelectMany(static queue => queue.Value)];
        }
    }

    /// <summary>
    /// The requests of <see cref="Verdict.CloseLate"/> and <see cref="Verdict.IgnoreLate"/> come at last, in their
    /// order; no client hears the answers.
    /// </summary>
    /// <returns>The last one's.</returns>
    public ErrorCode DeliverLate()
    {
        lock (_lock)
            return _late.Select(payload => Assert.Single(Store(payload, Verdict.Store)).Error).ToArray()[^1];
    }

    private void KeepLate(byte[] payload)
    {
        lock (_lock)
            _late.Add(payload);
    }

    private uint FirstIdOf(string topic)
    {
        lock (_lock)
        {
            if (!_topics.Contains(topic))
                _topics.Add(topic);
            return (uint)(_topics.IndexOf(topic) * IdsPerTopic) + 1;
        }
    }

    private QueueState StateOf(string topic, uint queue) => QueueState.Readable
        | (Unwritable.ContainsKey(queue) ? default : QueueState.Writable)
        | (Settings.ContainsKey(topic) ? QueueState.Bounded : default);

    private TopicDescription Describe(string topic) =>
        new(topic, new TopicId(StoreId), 0, Settings.GetValueOrDefault(topic, TopicSettings.None), []);

    private FakeBatch Describe(uint queue, ReadOnlySpan<byte> bytes)
    {
        Assert.Equal(ErrorCode.None, RecordBatch.Check(bytes, out RecordBatchHeader header));
        var reader = new RecordReader(bytes);
        int body =
            reader.TryRead(out RecordView first) && first.Body.Length >= 4 ? BitConverter.ToInt32(first.Body) : -1;
        return new FakeBatch(
            _topics[(int)((queue - 1) / IdsPerTopic)],
            queue,
            header.Producer,
            header.BaseSequence,
            header.RecordsCount,
            bytes.Length,
            body);
    }

    private FakeRequest Note(FrameConnection connection, byte[] payload)
    {
        Assert.True(ProduceRequestHeader.TryRead(payload, out ProduceRequestHeader head));
        Span<byte> rest = payload.AsSpan(ProduceRequestHeader.Size);
        List<FakeBatch> batches = [];
        lock (_lock)
        {
            for (int i = 0; i < head.BatchCount; i++)
            {
                Assert.True(ProduceBatchHeader.TryRead(rest, out ProduceBatchHeader batch));
                batches.Add(Describe(batch.Queue.Value, rest.Slice(ProduceBatchHeader.Size, batch.BatchSize)));
                rest = rest[(ProduceBatchHeader.Size + batch.BatchSize)..];
            }

            _requests.Add(new FakeRequest(connection, head.DeadlineMs, batches));
            return _requests[^1];
        }
    }
}
