using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Everything that one producer sends to one broker, over a connection of its own.</summary>
/// <remarks>
/// <para>Owns the queues, their batches and the gate that guards them. Producers call it on any thread. Nothing is
/// encoded, sent or completed under the gate but the message that is appended.</para>
/// <para>Its parts share the gate: <see cref="LaneDispatch"/> sends what is full, <see cref="LeavingRule"/> says when
/// the rest leaves, <see cref="LaneAnswers"/> settles, <see cref="RetrySweep"/> minds the time,
/// <see cref="ProducerSessionRenewal"/> connection and session, <see cref="OnewayBatches"/> what is not
/// acknowledged.</para>
/// </remarks>
internal sealed class BrokerLane : IAsyncDisposable
{
    private static long _lastId;

    private readonly Dictionary<QueueKey, QueueLane> _queues = [];
    private readonly CancellationTokenSource _closing = new();
    private EQueueException? _closeFailure;
    private bool _isClosed;

    /// <param name="terms">Of the producer.</param>
    /// <param name="link">The connection; the lane's own.</param>
    /// <param name="isBounded">Whether it serves one topic with a bounded backlog, whose requests may have to wait at
    /// the broker.</param>
    /// <param name="hasOthers">Whether messages may go to other brokers as well.</param>
    public BrokerLane(SendTerms terms, BrokerLink link, bool isBounded, bool hasOthers)
    {
        Terms = terms;
        Link = link;
        IsBounded = isBounded;
        HasOthers = hasOthers;
        ProducerOptions options = terms.Options;
        Budget = isBounded ? terms.NewBoundedBudget() : terms.Budget;
        Packer = options.Compression == RecordCodec.None ? null : new BatchPacker(options.Compression);
        Leaving = new LeavingRule(
            options.MaxInFlight, options.Linger, knowsTheWay: !isBounded, terms.Time.TimestampFrequency);
        Dispatch = new LaneDispatch(this);
        Answers = new LaneAnswers(this);
        Sweep = new RetrySweep(this);
        Session = new ProducerSessionRenewal(this);
        Oneway = new OnewayBatches(this);
    }

    public SendTerms Terms { get; }

    public BrokerLink Link { get; }

    public ServerAddress Address => Link.Address;

    public bool IsBounded { get; }

    /// <summary>Whether messages may go to other brokers as well.</summary>
    public bool HasOthers { get; }

    /// <summary>The part of the producer's memory that the lane keeps to, or all of it.</summary>
    public SendBudget Budget { get; }

    public BatchPacker? Packer { get; }

    public Gate Gate { get; } = new();

    public LeavingRule Leaving { get; }

    public LaneDispatch Dispatch { get; }

    public LaneAnswers Answers { get; }

    public RetrySweep Sweep { get; }

    public ProducerSessionRenewal Session { get; }

    public OnewayBatches Oneway { get; }

    /// <summary>Two gates are taken in the order of their lanes' numbers.</summary>
    public long Id { get; } = Interlocked.Increment(ref _lastId);

    /// <summary>Ends the lane's loops.</summary>
    public CancellationToken Closing => _closing.Token;

    /// <summary>Under the gate.</summary>
    public IReadOnlyCollection<QueueLane> Queues => _queues.Values;

    /// <summary>Whether the lane takes nothing any more: its store is gone or the producer is disposed.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>Whether there is no connection on which it could send. Read by any thread.</summary>
    public bool IsAway => Session.Presence.IsAway || !Link.Remoting.IsConnected;

    /// <summary>Why nothing is sent now, in words; null = nothing is known to be wrong.</summary>
    public string? Trouble => Link.Trouble is { } reason ? $"{Address}: {reason}"
        : Session.LastError?.Message.TrimEnd('.');

    /// <summary>Bytes of the batches in flight.</summary>
    public long InFlightBytes
    {
        get
        {
            using (Gate.Enter())
                return _queues.Values.Sum(static queue => queue.Pending.SentBytes);
        }
    }

    /// <summary>Starts connecting. Called once, before the first message.</summary>
    public void Start()
    {
        using (Gate.Enter())
            Session.Prepare();
    }

    /// <summary>
    /// The lane of a queue, made at first sight: it keeps its sequence for as long as the broker lane lives.
    /// </summary>
    public QueueLane GetQueue(TopicLane topic, QueueRoute route, SendBound? bound)
    {
        var key = new QueueKey(route.Log, route.Id);
        using (Gate.Enter())
        {
            if (!_queues.TryGetValue(key, out QueueLane? queue))
            {
                queue = new QueueLane(topic, route.Number, key, this, Terms.Options.BatchBytes);
                _queues.Add(key, queue);
            }

            queue.Bound = bound;
            queue.IsWritable = route.State.HasFlag(QueueState.Writable);
            return queue;
        }
    }

    /// <summary>Puts a message into the open batch of a queue.</summary>
    /// <param name="queue">One of this lane.</param>
    /// <param name="content">Encoded at once; nothing of it is kept.</param>
    /// <param name="callback">Told of the outcome instead of an awaitable; null for an awaitable.</param>
    /// <param name="state">For the callback.</param>
    /// <param name="awaitable">The batch and the token of the message's awaitable; the token is 0 with a
    /// callback.</param>
    public AppendStatus TryAppend(
        QueueLane queue,
        in RecordContent content,
        SendCallback? callback,
        object? state,
        out Awaitable awaitable)
    {
        awaitable = default;
        AppendStatus status;
        bool mustDispatch;
        using (Gate.Enter())
        {
            if (_isClosed)
                return AppendStatus.Closed;
            status = queue.TryAppend(content, out SendBatch? batch);
            if (status == AppendStatus.Appended)
            {
                if (callback is null)
                    awaitable = new Awaitable(batch!, batch!.Issue());
                else
                    batch!.Issue(callback, state);
            }

            mustDispatch = Dispatch.IsDue;
        }

        if (mustDispatch)
            Dispatch.Run();
        return status;
    }

    /// <summary>Puts a run of messages into the open batch of a queue or, if it does not fit, into the next: all of
    /// them together, unless they are more than a batch takes.</summary>
    /// <param name="queue">One of this lane.</param>
    /// <param name="run">Encoded at once; nothing of it is kept.</param>
    /// <param name="receipt">Of the run, if it is all of a call.</param>
    /// <param name="taken">The messages that were: none, all, or as many as a batch takes.</param>
    /// <param name="awaitable">Of those that were taken.</param>
    public AppendStatus TryAppendRun(
        QueueLane queue, in MessageRun run, BatchReceipt? receipt, out int taken, out Awaitable awaitable)
    {
        awaitable = default;
        taken = 0;
        AppendStatus status;
        bool mustDispatch;
        using (Gate.Enter())
        {
            if (_isClosed)
                return AppendStatus.Closed;
            status = queue.TryAppend(run, out SendBatch? batch, out taken);
            if (status == AppendStatus.Appended)
                awaitable = new Awaitable(batch!, batch!.Issue(taken, receipt));
            mustDispatch = Dispatch.IsDue;
        }

        if (mustDispatch)
            Dispatch.Run();
        return status;
    }

    /// <summary>Sends what is open and gathers what is not settled.</summary>
    /// <param name="pending">Gets a task per batch.</param>
    /// <param name="topic">Only of this topic; null = of all.</param>
    public void Flush(List<Task> pending, TopicLane? topic = null)
    {
        using (Gate.Enter())
        {
            Dispatch.CloseAllOpen();
            foreach (QueueLane queue in _queues.Values)
            {
                if (topic is null || queue.Topic == topic)
                    queue.Pending.Gather(pending);
            }

            Oneway.Gather(pending);
        }

        Dispatch.Run();
    }

    /// <summary>The continuations of a batch have run. Under no gate.</summary>
    public void OnContinuationsRan(int hold)
    {
        using (Gate.Enter())
        {
            if (!Leaving.EndHold(hold))
                return;
            Dispatch.ArmPace();
        }

        Dispatch.Run();
    }

    /// <summary>A sender is about to block: what it waits for must leave. Under no gate.</summary>
    public void OnSenderBlocks()
    {
        if (!Leaving.IsHeld)
            return;
        using (Gate.Enter())
            Leaving.EndHolds();
        Dispatch.Run();
    }

    /// <summary>Ends the lane; what is still pending fails.</summary>
    public async ValueTask DisposeAsync()
    {
        Close(Faults.Disposed("producer"), isProducerClosed: true);
        await _closing.CancelAsync().ConfigureAwait(false);
        await Sweep.DisposeAsync().ConfigureAwait(false);
        await Session.Ended.ConfigureAwait(false);
        await Oneway.Ended.ConfigureAwait(false);
        await Link.DisposeAsync().ConfigureAwait(false);
        Packer?.Dispose();
        _closing.Dispose();
    }

    /// <summary>Takes nothing more and fails what is not in flight; what is in flight fails with its answer.</summary>
    public void Close(EQueueException failure, bool isProducerClosed = false)
    {
        List<SettledBatch> failed = [];
        using (Gate.Enter())
        {
            if (_isClosed)
                return;
            Volatile.Write(ref _isClosed, true);
            _closeFailure = isProducerClosed ? null : failure;
            Dispatch.CloseAllOpen();
            foreach (QueueLane queue in _queues.Values)
            {
                foreach (SendBatch batch in queue.Pending)
                {
                    if (batch.State != BatchState.Sent)
                        Fail(batch, CloseFailureOf(batch), failed);
                }
            }
        }

        Answers.SettleAll(failed);
    }

    /// <summary>Why a batch of a closed lane fails: its store is gone, or the producer is closed. Under the
    /// gate.</summary>
    public EQueueException CloseFailureOf(SendBatch batch) =>
        _closeFailure ?? Faults.Closed(mayBeStored: batch.State == BatchState.Sent || batch.MayBeStored);

    /// <summary>Whether the producer was closed, and not this lane alone.</summary>
    public bool IsProducerClosed => _isClosed && _closeFailure is null;

    /// <summary>Takes a batch out of its queue to fail it. Under the gate.</summary>
    public void Fail(SendBatch batch, EQueueException failure, List<SettledBatch> failed)
    {
        Session.NoteKnown(batch);
        QueueLane.Of(batch).Pending.Remove(batch);
        failed.Add(new SettledBatch(batch, default, failure));
    }
}
