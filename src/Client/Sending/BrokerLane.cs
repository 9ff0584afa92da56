using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Outcome of handing a message to a lane.</summary>
internal enum AppendStatus
{
    /// <summary>It is in a batch.</summary>
    Appended,

    /// <summary>The memory is used up.</summary>
    NoRoom,

    /// <summary>The batch is full and the topic goes on with another queue.</summary>
    Moved,

    /// <summary>The lane's store is gone, or the producer is disposed.</summary>
    Closed,

    /// <summary>The message alone is larger than a batch may be.</summary>
    TooLarge,
}

/// <summary>Everything that one producer sends to one broker, over a connection of its own.</summary>
/// <remarks>
/// <para>Owns the queues' batches. One gate guards them; nothing is encoded, sent or completed under it but the message
/// that is appended. Full batches leave while fewer than the allowed requests are in flight; batches that are not full
/// leave when nothing is, or when they have waited long enough for that.</para>
/// <para>One thread at a time dispatches: the one whose message or answer made something sendable. Answers come on the
/// connection's receive loop. See the other parts: Append, Open, Pace, Dispatch, Answers, Session, Oneway, Away,
/// Hold, Telemetry.</para>
/// </remarks>
internal sealed partial class BrokerLane : IResponseSink, IAsyncDisposable
{
    /// <summary>Requests whose answers are still being worked through while the next ones are in flight.</summary>
    private const int SpareRequests = 4;

    private static readonly TimeSpan LongestSweep = TimeSpan.FromSeconds(1);

    private readonly LaneGate _gate = new();
    private readonly Producer _producer;
    private readonly ProducerOptions _options;
    private readonly BatchPacker? _packer;
    private readonly BrokerLink _link;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly ITimer _timer;
    private readonly CancellationTokenSource _closing = new();
    private readonly Dictionary<QueueKey, QueueLane> _queues = [];
    private readonly Queue<QueueLane> _ready = new();
    private readonly ProduceRequest[] _requests;
    private readonly Stack<ProduceRequest> _freeRequests = new();
    private readonly long _deliveryTicks;
    private readonly TimeSpan _sweepInterval;
    private readonly bool _isBounded;
    private readonly bool _hasOthers;
    private int _maxBatchBytes;
    private long _timerDue = long.MaxValue;
    private long _sweepDue = long.MaxValue;
    private bool _isClosed;

    /// <param name="producer">Whose messages.</param>
    /// <param name="link">The connection; the lane's own.</param>
    /// <param name="isBounded">Whether it serves one topic with a bounded backlog, whose requests may have to wait at
    /// the broker.</param>
    public BrokerLane(Producer producer, BrokerLink link, bool isBounded)
    {
        _isBounded = isBounded;
        _hasOthers = producer.HasSeveralBrokers;
        Budget = isBounded ? producer.NewBoundedBudget() : producer.Budget;
        _producer = producer;
        _options = producer.Options;
        _link = link;
        _packer = _options.Compression == RecordCodec.None ? null : new BatchPacker(_options.Compression);
        _time = producer.Time;
        _logger = producer.Logger;
        _lingerTicks = ToTicks(_options.Linger);
        _deliveryTicks = ToTicks(_options.DeliveryTimeout);
        _sweepInterval = _options.DeliveryTimeout / 4 < LongestSweep ? _options.DeliveryTimeout / 4 : LongestSweep;
        _requests = new ProduceRequest[_options.MaxInFlight + SpareRequests];
        for (int i = 0; i < _requests.Length; i++)
        {
            _requests[i] = new ProduceRequest(i);
            _freeRequests.Push(_requests[i]);
        }

        _awaySince = _time.GetTimestamp();
        _timer = _time.CreateTimer(
            static lane => ((BrokerLane)lane!).OnTimer(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public ServerAddress Address => _link.Address;

    /// <summary>The part of the producer's memory that the lane keeps to, or all of it.</summary>
    public SendBudget Budget { get; }

    /// <summary>Whether the lane takes nothing any more: its store is gone or the producer is disposed.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>Whether there is no connection on which it could send. Read by anybody.</summary>
    public bool IsAway => _isAway || !_link.Remoting.IsConnected;

    /// <summary>Why nothing is sent now, in words; null = nothing is known to be wrong.</summary>
    public string? Trouble => _link.Trouble is { } reason ? $"{Address}: {reason}"
        : Volatile.Read(ref _lastSessionError)?.Message.TrimEnd('.');

    /// <summary>The largest batch that the broker takes, in bytes; 0 before the first connection.</summary>
    private int MaxBatchBytes => Volatile.Read(ref _maxBatchBytes);

    /// <summary>
    /// The lane of a queue, made at first sight: it keeps its sequence for as long as the broker lane lives.
    /// </summary>
    public QueueLane GetQueue(TopicLane topic, QueueRoute route, SendBound? bound)
    {
        var key = new QueueKey(route.Log, route.Id);
        using (_gate.Enter())
        {
            if (!_queues.TryGetValue(key, out QueueLane? queue))
            {
                queue = new QueueLane(topic, route.Number, key, this, Math.Min(16 * 1024, _options.BatchBytes));
                _queues.Add(key, queue);
            }

            queue.Bound = bound;
            queue.IsWritable = route.State.HasFlag(QueueState.Writable);
            return queue;
        }
    }

    /// <summary>Sends what is open and gathers what is not settled.</summary>
    /// <param name="pending">Gets a task per batch.</param>
    /// <param name="topic">Only of this topic; null = of all.</param>
    public void Flush(List<Task> pending, TopicLane? topic = null)
    {
        using (_gate.Enter())
        {
            CloseAllOpen();
            foreach (QueueLane queue in _queues.Values)
            {
                if (topic is not null && queue.Topic != topic)
                    continue;
                for (SendBatch? batch = queue.First; batch is not null; batch = batch.Next)
                    pending.Add(batch.WhenDone());
            }

            GatherOneway(pending);
        }

        Dispatch();
    }

    /// <summary>Ends the lane; what is still pending fails.</summary>
    public async ValueTask DisposeAsync()
    {
        Close(Faults.Disposed("producer"), isProducerClosed: true);
        await _closing.CancelAsync().ConfigureAwait(false);
        await _timer.DisposeAsync().ConfigureAwait(false);
        Task session, oneway;
        using (_gate.Enter())
        {
            session = _sessionLoop;
            oneway = _onewayLoop;
        }

        await session.ConfigureAwait(false);
        await oneway.ConfigureAwait(false);
        await _link.DisposeAsync().ConfigureAwait(false);
        _packer?.Dispose();
        _closing.Dispose();
    }

    /// <summary>Takes nothing more and fails what is not in flight; what is in flight fails with its answer.</summary>
    private void Close(EQueueException failure, bool isProducerClosed = false)
    {
        List<SettledBatch> failed = [];
        using (_gate.Enter())
        {
            if (_isClosed)
                return;
            Volatile.Write(ref _isClosed, true);
            _closeFailure = isProducerClosed ? null : failure;
            CloseAllOpen();
            foreach (QueueLane queue in _queues.Values)
            {
                SendBatch? next;
                for (SendBatch? batch = queue.First; batch is not null; batch = next)
                {
                    next = batch.Next;
                    if (batch.State != BatchState.Sent)
                        Fail(batch, CloseFailureOf(batch), failed);
                }
            }
        }

        SettleAll(failed);
    }

    /// <summary>Why a batch of a closed lane fails: its store is gone, or the producer is closed. Under the
    /// gate.</summary>
    private EQueueException CloseFailureOf(SendBatch batch) =>
        _closeFailure ?? Faults.Closed(mayBeStored: batch.State == BatchState.Sent || batch.MayBeStored);

    /// <summary>Takes a batch out of its queue to fail it. Under the gate.</summary>
    private void Fail(SendBatch batch, EQueueException failure, List<SettledBatch> failed)
    {
        if (batch.State == BatchState.Unknown)
            _unknownCount--;
        batch.Queue.Remove(batch);
        failed.Add(new SettledBatch(batch, default, failure));
    }

    private void SettleAll(List<SettledBatch> settled)
    {
        foreach ((SendBatch batch, ProduceResult result, EQueueException? failure) in settled)
        {
            if (failure?.InnerException is ProducerClosedException closed)
            {
                // Told once for each topic, when all have been counted.
                _producer.NoteUnsent(batch.Queue.Topic.Name, batch.RecordCount, closed.MayBeStored);
            }
            else if (failure is not null)
            {
                Log.BatchFailed(
                    _logger,
                    batch.RecordCount,
                    batch.Queue.Topic.Name,
                    batch.Queue.Number,
                    failure.Code,
                    failure.Message);
            }

            ObserveSettled(batch, failure);
            batch.Settle(result, failure);
        }
    }

    /// <summary>Makes the timer fire no later than <paramref name="due"/>. Under the gate.</summary>
    private void Arm(long due)
    {
        if (due >= _timerDue || _isClosed)
            return;
        _timerDue = due;

        // Timers count whole milliseconds: rounded down, this one would ring too early, and again at once.
        double wait = Math.Ceiling(_time.GetElapsedTime(_time.GetTimestamp(), due).TotalMilliseconds);
        _timer.Change(wait > 0 ? TimeSpan.FromMilliseconds(wait) : TimeSpan.Zero, Timeout.InfiniteTimeSpan);
    }

    /// <summary>Has the timer look through all queues no later than <paramref name="due"/>. Under the gate.</summary>
    private void ArmSweep(long due)
    {
        _sweepDue = Math.Min(_sweepDue, due);
        Arm(due);
    }

    private long After(TimeSpan span) => _time.GetTimestamp() + ToTicks(span);

    private long ToTicks(TimeSpan span) => (long)(span.TotalSeconds * _time.TimestampFrequency);
}
