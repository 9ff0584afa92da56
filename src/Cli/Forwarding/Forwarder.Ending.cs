using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Cli.Forwarding;

/// <content>The run as a whole: its ticks, and how it ends.</content>
internal sealed partial class Forwarder
{
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
                await PumpAsync(ending.Token);
            }
            catch (OperationCanceledException) when (ending.IsCancellationRequested)
            {
                // Told to end, by a signal, --idle-exit or a failed send.
            }
            catch (EQueueException exception)
            {
                failure = exception;
            }

            bool isSettled = await TrySettleAsync(hasFailed: failure is not null, stop);
            failure = _window.Failure ?? failure ?? (isSettled ? null : Unsettled());
        }
        finally
        {
            await _ticksEnd.CancelAsync();
            await ticks;
            if (!_window.IsEmpty) await _producer.AbortAsync();
            _remarks.EndProgress();
        }

        failure = await CommitLastAsync() is { } commitFailure ? failure ?? commitFailure : failure;
        if (failure is not null) throw failure;
    }

    /// <summary>Commits, and shows progress, every second.</summary>
    private async Task RunTicksAsync()
    {
        using var timer = new PeriodicTimer(TickInterval, _time);
        long at = _time.GetTimestamp();
        long before = 0;
        try
        {
            while (await timer.WaitForNextTickAsync(_ticksEnd.Token))
            {
                await _progress.TryCommitAsync(_ticksEnd.Token);
                if (!_remarks.ShowsProgress) continue;
                (long messages, long now) = (Messages, _time.GetTimestamp());
                ShowProgress(messages, (messages - before) / _time.GetElapsedTime(at, now).TotalSeconds);
                (before, at) = (messages, now);
            }
        }
        catch (OperationCanceledException)
        {
            // The run ends.
        }
    }

    private void ShowProgress(long messages, double perSecond)
    {
        long behind = _consumer.GetProgress().Sum(queue => Math.Max(0, queue.End.Value - queue.Next.Value));
        _remarks.ShowProgress(string.Create(
            CultureInfo.InvariantCulture,
            $"forwarded {messages:N0} messages, {perSecond:N0}/s; {UnderWayBytes / 1e6:N1} MB under way, "
            + $"{behind:N0} messages to read"));
    }

    /// <summary>
    /// Waits until the target has settled what is under way: as long as it takes, or, once the run was told to end or
    /// has failed, as long as the request allows.
    /// </summary>
    private async Task<bool> TrySettleAsync(bool hasFailed, CancellationToken stop)
    {
        using var patience = new CancellationTokenSource(Timeout.InfiniteTimeSpan, _time);
        using CancellationTokenRegistration onStop = stop.Register(BeginPatience);
        using CancellationTokenRegistration onFailure = _window.Failed.Register(BeginPatience);
        if (hasFailed) BeginPatience();
        try
        {
            while (!_window.IsEmpty)
            {
                Task changed = _window.WhenChanged();
                if (!_window.IsEmpty) await changed.WaitAsync(patience.Token);
            }

            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }

        void BeginPatience() => patience.CancelAfter(_request.Patience);
    }

    private EQueueException Unsettled() => new(
        ErrorCode.Timeout,
        $"{_request.To} has not acknowledged everything within {_request.Patience.TotalSeconds:0.###} s; the next "
        + "start sends the rest again.");

    /// <returns>Why what was forwarded is not committed, or null.</returns>
    private async ValueTask<EQueueException?> CommitLastAsync()
    {
        try
        {
            await _progress.CommitAsync(CancellationToken.None);
            return null;
        }
        catch (EQueueException exception) when (ForwardProgress.IsTakenOver(exception))
        {
            _remarks.Write($"another member goes on and repeats some messages: {exception.Message}");
            return null;
        }
        catch (EQueueException exception)
        {
            return new EQueueException(
                exception.Code,
                $"What was forwarded last is not committed at {_request.From}, and is forwarded again by the next "
                + $"start: {exception.Message}",
                exception);
        }
    }
}
