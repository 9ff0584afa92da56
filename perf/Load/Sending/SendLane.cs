using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using EQueue.Load.Measuring;
using EQueue.Protocol;

namespace EQueue.Load.Sending;

/// <summary>
/// One producer with a connection of its own: its bodies, its sequence, and when it has sent enough. Used by one
/// <see cref="ISender"/> on one flow of control.
/// </summary>
internal sealed class SendLane : IAsyncDisposable
{
    private const int ClockCheckMask = 63;

    private readonly EQueueClient _client;
    private readonly BodyPool _bodies;
    private readonly IReadOnlyList<string> _topics;
    private readonly uint _run;
    private readonly int _number;
    private readonly long _sampleMask;
    private readonly bool _hasTimestamp;
    private readonly string[] _keys;
    private readonly WindowRates? _departures;
    private long _endSequence;
    private long _deadlineNs;

    public SendLane(ProducerOrder order, int number)
    {
        _client = LoadClient.To(order.Server);
        _bodies = new BodyPool(order.Seed, number, order.Size, order.SlotCount);
        _topics = order.PinTopics ? [order.Topics[number % order.Topics.Count]] : order.Topics;
        _run = order.Run;
        _number = number;
        _sampleMask = order.SampleMask;
        _hasTimestamp = order.Size >= BodyStamp.SizeWithTimestamp;
        _keys = [.. Enumerable.Range(0, order.KeyedQueues).Select(queue => FindKey(queue, order.KeyedQueues))];
        _departures = order.InWindows && number == 0 ? new WindowRates() : null;
        SlotCount = order.SlotCount;
        Producer = _client.CreateProducer();
    }

    public Producer Producer { get; }

    public int SlotCount { get; }

    /// <summary>From send to receipt.</summary>
    public LatencyHistogram Ack { get; } = new();

    /// <summary>Messages sent since the lane was made; also the next sequence.</summary>
    public long Sequence { get; private set; }

    /// <summary>The key of the message that is next; null for none.</summary>
    public string? NextKey => _keys.Length == 0 ? null : _keys[(int)(Sequence % _keys.Length)];

    /// <summary>The median rate over windows of this stretch's messages; null when it was not asked for.</summary>
    public double? WindowPerSecond => _departures?.MedianPerSecond();

    /// <summary>Begins a stretch of sending that ends after a time or a count.</summary>
    public void Begin(double seconds, long? messages)
    {
        Ack.Clear();
        _departures?.Clear();
        _endSequence = messages is { } count ? Sequence + count : long.MaxValue;
        _deadlineNs = messages is null ? Clock.NowNs + (long)(seconds * 1e9) : long.MaxValue;
    }

    /// <summary>The next message of the stretch, stamped; false at its end.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryNext(out Outgoing message)
    {
        long sequence = Sequence;
        if (sequence == _endSequence || ((sequence & ClockCheckMask) == 0 && Clock.NowNs >= _deadlineNs))
        {
            message = default;
            return false;
        }

        bool isSampled = (sequence & _sampleMask) == 0;
        long stampNs = isSampled || (_hasTimestamp && SequenceChecker.IsSampled(sequence)) ? Clock.NowNs : 0;
        message = Take(sequence, stampNs, isSampled);
        return true;
    }

    /// <summary>The next message, stamped with the time at which it is due; the caller decides when to end.</summary>
    public Outgoing NextDue(long dueNs) => Take(Sequence, dueNs, isSampled: true);

    public async ValueTask DisposeAsync()
    {
        await Producer.DisposeAsync();
        await _client.DisposeAsync();
    }

    private static string FindKey(int queue, int queueCount) => Enumerable.Range(0, int.MaxValue)
        .Select(number => number.ToString(CultureInfo.InvariantCulture))
        .First(key => Murmur2.QueueOf(Encoding.UTF8.GetBytes(key), queueCount) == queue);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Outgoing Take(long sequence, long stampNs, bool isSampled)
    {
        ReadOnlyMemory<byte> body = _bodies.Next(new BodyStamp(sequence, _number, _run), stampNs);
        string topic = _topics.Count == 1 ? _topics[0] : _topics[(int)(sequence % _topics.Count)];
        Sequence = sequence + 1;
        _departures?.Record(Clock.NowNs);
        return new Outgoing(topic, body, isSampled ? stampNs : 0);
    }
}

/// <summary>A message about to be sent.</summary>
/// <param name="StartNs">When its send began, if it is to be timed; else 0.</param>
internal readonly record struct Outgoing(string Topic, ReadOnlyMemory<byte> Body, long StartNs);
