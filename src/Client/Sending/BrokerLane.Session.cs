using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What the next producer session must be.</summary>
internal enum Renewal
{
    /// <summary>The present one is good.</summary>
    None,

    /// <summary>The same id in its next epoch.</summary>
    NextEpoch,

    /// <summary>A new id: the broker does not know the old one.</summary>
    NewId,
}

/// <content>
/// The connection and the producer session. Without both nothing is sent. A gap in a queue's sequences ends the
/// session: first every batch whose fate is unknown is sent once more under the old one, which tells whether it is
/// stored; then the epoch rises and what is left is numbered anew from 0. A batch to which an answer was lost is not
/// left when one before it was given up with its fate unknown: old copies of both may have come until the epoch rose.
/// So neither a loss of the answer nor an expiry can store a message twice.
/// </content>
internal sealed partial class BrokerLane
{
    private readonly long _lingerTicks;
    private Task _sessionLoop = Task.CompletedTask;
    private ProducerSession _session = ProducerSession.None;
    private Renewal _renewal = Renewal.NewId;
    private EQueueException? _lastSessionError;
    private long _generation = -1;
    private long _lostGeneration = -1;
    private int _window = 1;
    private int _unknownCount;
    private bool _isReady;
    private bool _isPreparing;

    /// <summary>Starts connecting. Called once, before the first message.</summary>
    public void Start()
    {
        using (_gate.Enter())
            Prepare();
    }

    /// <summary>The connection is gone: nothing is sent until there is a newer one.</summary>
    private void Reconnect(long lostGeneration)
    {
        using (_gate.Enter())
        {
            // A late failure of an older connection says nothing about the present one.
            if (lostGeneration < _generation)
                return;
            BeAway(lostGeneration);
        }
    }

    /// <summary>Ends the session after a gap. Under the gate.</summary>
    private void BeginRenewal(Renewal renewal, string reason)
    {
        if (_renewal >= renewal)
            return;
        if (_renewal == Renewal.None)
            Log.SessionRenewed(_logger, Address, reason);
        _renewal = renewal;
        TryRenew();
    }

    /// <summary>Goes for the new session once nothing is in flight and no fate is unknown. Under the gate.</summary>
    private void TryRenew()
    {
        if (_isReady && _unknownCount == 0 && _inFlight == 0)
            Prepare();
    }

    /// <summary>Stops sending and has connection and session made. Under the gate.</summary>
    private void Prepare()
    {
        _isReady = false;
        if (_isPreparing || _isClosed)
            return;
        _isPreparing = true;
        Task previous = _sessionLoop;
        _sessionLoop = Task.Run(() => PrepareAsync(previous));
    }

    private async Task PrepareAsync(Task previous)
    {
        await previous.ConfigureAwait(false);
        for (int attempts = 1; !_closing.IsCancellationRequested; attempts++)
        {
            try
            {
                await OpenSessionAsync(_closing.Token).ConfigureAwait(false);
                Dispatch();
                return;
            }
            catch (EQueueException exception)
            {
                if (!await OnSessionFailedAsync(exception, attempts).ConfigureAwait(false))
                    return;
            }
        }
    }

    /// <returns>Whether to try again.</returns>
    private async ValueTask<bool> OnSessionFailedAsync(EQueueException exception, int attempts)
    {
        using (_gate.Enter())
        {
            _lastSessionError = exception;
            if (exception.Code is ErrorCode.ProducerFenced or ErrorCode.UnknownProducer)
                _renewal = Renewal.NewId;
        }

        if (_closing.IsCancellationRequested)
            return false;
        bool isPassing = exception.IsRetriable
            || exception.Code is ErrorCode.ProducerFenced or ErrorCode.UnknownProducer or ErrorCode.InternalError;
        if (_link.IsStale || !isPassing)
        {
            Close(exception);
            return false;
        }

        if (attempts == 1 && exception.Code != ErrorCode.ConnectionLost)
            Log.SessionFailed(_logger, Address, exception.Message);
        try
        {
            await Task.Delay(BackoffOf(attempts), _time, _closing.Token).ConfigureAwait(false);
            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    private async ValueTask OpenSessionAsync(CancellationToken cancellationToken)
    {
        HelloResponse hello =
            await _link.ConnectAsync(Timeout.InfiniteTimeSpan, cancellationToken).ConfigureAwait(false);
        long generation = _link.Remoting.ConnectionGeneration;
        if (generation <= Volatile.Read(ref _lostGeneration))
            throw new EQueueException(ErrorCode.ConnectionLost, $"The connection to {Address} is closing.");
        ProducerSession known;
        using (_gate.Enter())
        {
            // Fates must be known before the session may end: those batches go first, under the old one.
            bool isDue = _renewal != Renewal.None && _unknownCount == 0 && _inFlight == 0;
            if (!isDue)
            {
                BeReady(hello, generation);
                return;
            }

            known = _renewal == Renewal.NextEpoch ? _session : ProducerSession.None;
        }

        InitProducerResponse answer = await _link
            .InvokeAsync(new InitProducerRequest(null, known), _options.RequestTimeout, cancellationToken)
            .ConfigureAwait(false);
        Log.SessionOpened(_logger, Address, answer.Session.Id, answer.Session.Epoch);
        List<SettledBatch> failed = [];
        using (_gate.Enter())
        {
            _session = answer.Session;
            _renewal = Renewal.None;
            Renumber(failed);
            BeReady(hello, generation);
        }

        SettleAll(failed);
    }

    /// <summary>What is pending goes on in the new session, but for what the old one may have stored. Under the
    /// gate.</summary>
    private void Renumber(List<SettledBatch> failed)
    {
        List<SendBatch> untold = [];
        foreach (QueueLane queue in _queues.Values)
            queue.Renumber(untold);
        foreach (SendBatch batch in untold)
            Fail(batch, Untold(batch), failed);
    }

    /// <summary>Sending may begin. Under the gate.</summary>
    private void BeReady(HelloResponse hello, long generation)
    {
        _window = Math.Max((int)hello.SequenceWindow, 1);
        Volatile.Write(ref _maxBatchBytes, (int)Math.Min(hello.MaxBatchBytes, int.MaxValue));
        _generation = generation;
        _isPreparing = false;
        _isReady = true;
        _isAway = false;
        _lastSessionError = null;
        foreach (QueueLane queue in _queues.Values)
            List(queue);
    }
}
