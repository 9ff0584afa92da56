namespace EQueue.Client;

/// <content>The run as a whole: its ticks, and how it ends.</content>
internal sealed partial class Forwarder
{
    /// <summary>How long a broker may be silent once a signal has come: a person or a service manager waits.</summary>
    private static readonly TimeSpan Hurry = TimeSpan.FromSeconds(2);

    /// <summary>How long the farewell to the source may take then.</summary>
    private static readonly TimeSpan Farewell = TimeSpan.FromMilliseconds(500);

    /// <summary>
    /// Forwards until the end, the count, the idle time, a failure or the token; then waits for what is under way and
    /// commits it.
    /// </summary>
    /// <exception cref="EQueueException">Why it ended before its time, or did not commit all that it sent. What was
    /// acknowledged without a gap is committed all the same, as far as the source takes it.</exception>
    public async Task RunAsync(CancellationToken stop)
    {
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(stop, _idle.Token, _window.Failed);
        Task ticks = RunTicksAsync();
        EQueueException? failure = null;
        try
        {
            try
            {
                await PumpAsync(ending.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (ending.IsCancellationRequested)
            {
                // Told to end, by a signal, --idle-exit or a failed send.
            }
            catch (EQueueException exception)
            {
                failure = exception;
            }

            EQueueException? unsettled = await SettleAsync(hasFailed: failure is not null, stop)
                .ConfigureAwait(false);
            failure = _window.Failure ?? failure ?? unsettled;
        }
        finally
        {
            await _ticksEnd.CancelAsync().ConfigureAwait(false);
            await ticks.ConfigureAwait(false);
            if (!_window.IsEmpty)
                await _producer.AbortAsync().ConfigureAwait(false);
        }

        EQueueException? uncommitted = await CommitLastAsync(stop).ConfigureAwait(false);
        failure ??= uncommitted;
        if (stop.IsCancellationRequested)
            await _consumer.CloseAsync(Farewell).ConfigureAwait(false);
        if (failure is not null)
            throw failure;
    }

    /// <summary>Commits, and looks at how much is left, every second.</summary>
    private async Task RunTicksAsync()
    {
        using var timer = new PeriodicTimer(TickInterval, _time);
        try
        {
            while (await timer.WaitForNextTickAsync(_ticksEnd.Token).ConfigureAwait(false))
            {
                await _progress.TryCommitAsync(_ticksEnd.Token).ConfigureAwait(false);
                long left = _consumer.GetProgress().Sum(queue => Math.Max(0, queue.End.Value - queue.Next.Value));
                Interlocked.Exchange(ref _messagesToRead, left);
            }
        }
        catch (OperationCanceledException)
        {
            // The run ends.
        }
    }

    /// <summary>
    /// Waits until the target has settled what is under way: as long as it takes, or, once the run was told to end or
    /// has failed, as long as the request allows; after a signal only while it keeps settling.
    /// </summary>
    /// <returns>What is to be said when it has not, or null.</returns>
    private async Task<EQueueException?> SettleAsync(bool hasFailed, CancellationToken stop)
    {
        using var patience = new CancellationTokenSource(Timeout.InfiniteTimeSpan, _time);
        using var silence = new CancellationTokenSource(Timeout.InfiniteTimeSpan, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(patience.Token, silence.Token);
        using CancellationTokenRegistration onStop = stop.Register(() =>
        {
            BeginPatience();
            silence.CancelAfter(Hurry);
        });
        using CancellationTokenRegistration onFailure = _window.Failed.Register(BeginPatience);
        if (hasFailed)
            BeginPatience();
        try
        {
            while (!_window.IsEmpty)
            {
                Task changed = _window.WhenChanged();
                if (_window.IsEmpty)
                    break;
                await changed.WaitAsync(either.Token).ConfigureAwait(false);
                if (stop.IsCancellationRequested)
                    silence.CancelAfter(Hurry);
            }

            return null;
        }
        catch (OperationCanceledException)
        {
            return Unsettled(patience.IsCancellationRequested ? _request.Patience : Hurry);
        }

        void BeginPatience() => patience.CancelAfter(_request.Patience);
    }

    private EQueueException Unsettled(TimeSpan waited) => new(
        ErrorCode.Timeout,
        $"{_request.To} has not acknowledged everything within {waited.TotalSeconds:0.###} s; the next start sends the "
        + "rest again.");

    /// <returns>Why what was forwarded is not committed, or null.</returns>
    private async ValueTask<EQueueException?> CommitLastAsync(CancellationToken stop)
    {
        using var patience = new CancellationTokenSource(Timeout.InfiniteTimeSpan, _time);
        using CancellationTokenRegistration onStop = stop.Register(() => patience.CancelAfter(Hurry));
        try
        {
            await _progress.CommitAsync(patience.Token).ConfigureAwait(false);
            return null;
        }
        catch (EQueueException exception) when (ForwardProgress.IsTakenOver(exception))
        {
            Log.ForwardTakenOver(_logger, exception.Message);
            return null;
        }
        catch (Exception exception) when (patience.IsCancellationRequested
            && exception is OperationCanceledException or EQueueException { Code: ErrorCode.Cancelled })
        {
            return Uncommitted(ErrorCode.Timeout, $"the broker did not answer within {Hurry.TotalSeconds:0} s.", null);
        }
        catch (EQueueException exception)
        {
            return Uncommitted(exception.Code, exception.Message, exception);
        }
    }

    private EQueueException Uncommitted(ErrorCode code, string reason, Exception? cause) => new(
        code,
        $"What was forwarded last is not committed at {_request.From}, and is forwarded again by the next start: "
        + reason,
        cause);
}
