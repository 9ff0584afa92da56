using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A lane's connection and its producer session; without both nothing is sent.</summary>
/// <remarks>
/// <para>A gap in a queue's sequences ends the session: first every batch whose fate is unknown is sent once more under
/// the old one, which tells whether it is stored; then the epoch rises and what is left is numbered anew from 0. A
/// batch to which an answer was lost fails when one before it was given up with its fate unknown: old copies of both
/// may have come until the epoch rose. So neither a loss of the answer nor an expiry can store a message twice.</para>
/// <para>Owns the session and the loop that makes it; under the lane's gate, but for what any thread may read.</para>
/// </remarks>
internal sealed class ProducerSessionRenewal(BrokerLane lane)
{
    private Task _loop = Task.CompletedTask;
    private ProducerSession _session = ProducerSession.None;
    private Renewal _renewal = Renewal.NewId;
    private EQueueException? _lastError;
    private int _window = 1;
    private int _unknownBatches;
    private int _maxBatchBytes;
    private bool _isReady;
    private bool _isPreparing;

    /// <summary>Completes when the loop of a closed lane has ended.</summary>
    public Task Ended => _loop;

    /// <summary>Whether batches may be sent. Under the gate.</summary>
    public bool IsReady => _isReady;

    /// <summary>Whether there is a connection.</summary>
    public BrokerPresence Presence { get; } = new(lane.Terms.Time);

    /// <summary>Why there is no session. Read by any thread.</summary>
    public EQueueException? LastError => Volatile.Read(ref _lastError);

    /// <summary>The largest batch that the broker takes, in bytes; 0 before the first connection.</summary>
    public int MaxBatchBytes => Volatile.Read(ref _maxBatchBytes);

    private bool CanRenew => _renewal != Renewal.None && _unknownBatches == 0 && lane.Leaving.InFlight == 0;

    /// <summary>The batch of a queue that may be sent next. Under the gate.</summary>
    public SendBatch? FindNext(QueueLane queue, long now) =>
        queue.Pending.FindNext(now, _window, _renewal != Renewal.None);

    /// <summary>A batch leaves in this session. Under the gate.</summary>
    public void NoteLeaving(QueueLane queue, SendBatch batch)
    {
        NoteKnown(batch);
        queue.Pending.MarkSent(batch, _session);
    }

    /// <summary>Whether a batch is stored is not known. Under the gate.</summary>
    public void NoteUnknown(SendBatch batch)
    {
        batch.State = BatchState.Unknown;
        _unknownBatches++;
    }

    /// <summary>A batch is sent once more, or given up. Under the gate.</summary>
    public void NoteKnown(SendBatch batch)
    {
        if (batch.State == BatchState.Unknown)
            _unknownBatches--;
    }

    /// <summary>A connection is gone: nothing is sent until there is a newer one. Under the gate or not.</summary>
    /// <param name="lostGeneration">Which; null = the present one.</param>
    public void BeAway(long? lostGeneration = null)
    {
        using (lane.Gate.Enter())
        {
            if (Presence.TryNoteLost(lostGeneration))
                Prepare();
        }
    }

    /// <summary>Ends the session after a gap. Under the gate.</summary>
    public void BeginRenewal(Renewal renewal, string reason)
    {
        if (_renewal >= renewal)
            return;
        if (_renewal == Renewal.None)
            Log.SessionRenewed(lane.Terms.Logger, lane.Address, reason);
        _renewal = renewal;
        TryRenew();
    }

    /// <summary>Goes for the new session, if there is to be one, once nothing is in flight and no fate is unknown.
    /// Under the gate.</summary>
    public void TryRenew()
    {
        if (_isReady && CanRenew)
            Prepare();
    }

    /// <summary>Stops sending and has connection and session made. Under the gate.</summary>
    public void Prepare()
    {
        _isReady = false;
        if (_isPreparing || lane.IsClosed)
            return;
        _isPreparing = true;
        Task previous = _loop;
        _loop = Task.Run(() => PrepareAsync(previous));
    }

    private async Task PrepareAsync(Task previous)
    {
        await previous.ConfigureAwait(false);
        for (int attempts = 1; !lane.Closing.IsCancellationRequested; attempts++)
        {
            try
            {
                await OpenSessionAsync(lane.Closing).ConfigureAwait(false);
                lane.Dispatch.Run();
                return;
            }
            catch (EQueueException exception)
            {
                if (!await OnFailedAsync(exception, attempts).ConfigureAwait(false))
                    return;
            }
        }
    }

    /// <returns>Whether to try again.</returns>
    private async ValueTask<bool> OnFailedAsync(EQueueException exception, int attempts)
    {
        bool isUnknown = exception.Code is ErrorCode.ProducerFenced or ErrorCode.UnknownProducer;
        using (lane.Gate.Enter())
        {
            _lastError = exception;
            if (isUnknown)
                _renewal = Renewal.NewId;
        }

        if (lane.Closing.IsCancellationRequested)
            return false;
        bool isPassing = exception.IsRetriable || isUnknown || exception.Code == ErrorCode.InternalError;
        if (lane.Link.IsStale || !isPassing)
        {
            lane.Close(exception);
            return false;
        }

        if (attempts == 1 && exception.Code != ErrorCode.ConnectionLost)
            Log.SessionFailed(lane.Terms.Logger, lane.Address, exception.Message);
        await Task.Delay(lane.Terms.BackoffOf(attempts), lane.Terms.Time, lane.Closing)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return true;
    }

    private async ValueTask OpenSessionAsync(CancellationToken cancellationToken)
    {
        HelloResponse hello = await lane.Link.ConnectAsync(Timeout.InfiniteTimeSpan, cancellationToken)
            .ConfigureAwait(false);
        long generation = lane.Link.Remoting.ConnectionGeneration;
        if (Presence.IsLost(generation))
            throw new EQueueException(ErrorCode.ConnectionLost, $"The connection to {lane.Address} is closing.");
        ProducerSession known;
        using (lane.Gate.Enter())
        {
            // Fates must be known before the session may end: those batches go first, under the old one.
            if (!CanRenew)
            {
                BeReady(hello, generation);
                return;
            }

            known = _renewal == Renewal.NextEpoch ? _session : ProducerSession.None;
        }

        InitProducerResponse answer = await lane.Link
            .InvokeAsync(new InitProducerRequest(null, known), lane.Terms.Options.RequestTimeout, cancellationToken)
            .ConfigureAwait(false);
        Log.SessionOpened(lane.Terms.Logger, lane.Address, answer.Session.Id, answer.Session.Epoch);
        List<SettledBatch> failed = [];
        using (lane.Gate.Enter())
        {
            _session = answer.Session;
            _renewal = Renewal.None;
            Renumber(failed);
            BeReady(hello, generation);
        }

        lane.Answers.SettleAll(failed);
    }

    /// <summary>What is pending is sent in the new session, but for what the old one may have stored.</summary>
    private void Renumber(List<SettledBatch> failed)
    {
        List<SendBatch> untold = [];
        foreach (QueueLane queue in lane.Queues)
            queue.Pending.Renumber(untold);
        foreach (SendBatch batch in untold)
            lane.Fail(batch, SendFaults.Untold(batch, lane), failed);
    }

    private void BeReady(HelloResponse hello, long generation)
    {
        _window = Math.Max((int)hello.SequenceWindow, 1);
        Volatile.Write(ref _maxBatchBytes, (int)Math.Min(hello.MaxBatchBytes, int.MaxValue));
        Presence.NoteFound(generation);
        _isPreparing = false;
        _isReady = true;
        _lastError = null;
        foreach (QueueLane queue in lane.Queues)
            lane.Dispatch.List(queue);
    }
}
