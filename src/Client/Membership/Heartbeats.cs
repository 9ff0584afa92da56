using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The loop by which a member beats at one broker: one call at a time, parked at the broker and given up when
/// there is something to say.</summary>
/// <remarks>Owns the lease that the answers renew. The reader looks at the lease; commits may ask for a call at
/// once.</remarks>
internal sealed class Heartbeats(
    MemberSession session, MemberTerms terms, MessageStream stream, BrokerLink link, MemberQueues queues)
{
    private static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(10);

    private readonly MemberLease _lease = new(terms.Client.TimeProvider);
    private readonly Punctuality _punctuality = new(terms, link.Address);
    private readonly WakeSignal _left = new();
    private TaskCompletionSource? _urgent;

    /// <summary>Whether the membership may be over.</summary>
    public bool IsLeaseOver => _lease.IsOver;

    private TimeSpan MaxWait
    {
        get
        {
            TimeSpan third = terms.Options.SessionTimeout / 3;
            return third < LongestWait ? third : LongestWait;
        }
    }

    /// <summary>The connection is gone: it is made again, and the lease runs out sooner.</summary>
    public void OnConnectionLost()
    {
        _lease.OnConnectionLost();
        queues.News.Set();
    }

    /// <summary>The reader has left a queue that was taken away.</summary>
    public void OnQueueLeft() => _left.Set();

    /// <summary>The first call, by which the member joins.</summary>
    public async ValueTask JoinAsync(CancellationToken cancellationToken) =>
        await BeatAsync(Prepare(null), cancellationToken).ConfigureAwait(false);

    /// <summary>Beats until the session ends.</summary>
    public async Task RunAsync()
    {
        int failures = 0;
        while (!session.IsOver)
        {
            Beat? beat = null;
            TaskCompletionSource? urgent = null;
            try
            {
                await WaitUntilLeftAsync().ConfigureAwait(false);
                await link.ConnectAsync(Timeout.InfiniteTimeSpan, session.Closing).ConfigureAwait(false);
                queues.News.Reset();
                urgent = Interlocked.Exchange(ref _urgent, null);
                beat = Prepare(urgent);
                _punctuality.Expect(beat.Request.MaxWait);
                TimeSpan pause = await BeatAsync(beat, session.Closing).ConfigureAwait(false);
                _punctuality.Check();
                failures = 0;
                urgent?.TrySetResult();
                if (pause > TimeSpan.Zero)
                    await RestAsync(pause).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }
            catch (EQueueException exception)
            {
                if (!session.Closing.IsCancellationRequested)
                    await OnFailedAsync(beat, exception, ++failures).ConfigureAwait(false);
            }
            finally
            {
                urgent?.TrySetResult();
            }
        }
    }

    /// <summary>Beats at once.</summary>
    /// <returns>Completes when that call is over, or at once where there is no member to ask about.</returns>
    public Task BeatNowAsync(CancellationToken cancellationToken)
    {
        if (!queues.IsMember || session.IsOver)
            return Task.CompletedTask;
        var mine = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource urgent = Interlocked.CompareExchange(ref _urgent, mine, null) ?? mine;
        queues.News.Set();
        return urgent.Task.WaitAsync(terms.Patience, terms.Client.TimeProvider, cancellationToken);
    }

    /// <summary>The membership is over: no call is waited for any more.</summary>
    public void GiveUpUrgent() => Interlocked.Exchange(ref _urgent, null)?.TrySetResult();

    /// <summary>A lost member joins anew when the application stands at no message of its former queues.</summary>
    private async ValueTask WaitUntilLeftAsync()
    {
        while (true)
        {
            _left.Reset();
            if (!queues.IsLostInHand())
                return;
            await _left.Told.WaitAsync(session.Closing).ConfigureAwait(false);
        }
    }

    private Beat Prepare(TaskCompletionSource? urgent) =>
        queues.Prepare(link.Remoting.ConnectionGeneration, urgent is not null || _lease.IsOver, MaxWait);

    /// <summary>One call, held by the broker until there is news or its wait is over.</summary>
    /// <returns>How long to wait before the next one.</returns>
    private async ValueTask<TimeSpan> BeatAsync(Beat beat, CancellationToken cancellationToken)
    {
        GroupHeartbeatRequest request = beat.Request;
        long sentAt = terms.Client.TimeProvider.GetTimestamp();
        using var patience = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        Task<GroupHeartbeatResponse> call =
            link.InvokeAsync(request, request.MaxWait + terms.Patience, patience.Token).AsTask();
        GroupHeartbeatResponse answer;
        try
        {
            // An answer that is given up is as good as a lost one: the next call names what was seen, and is told all.
            if (request.MaxWait > TimeSpan.Zero
                && await Task.WhenAny(call, queues.News.Told).ConfigureAwait(false) != call)
            {
                await patience.CancelAsync().ConfigureAwait(false);
            }

            answer = await call.ConfigureAwait(false);
        }
        catch (EQueueException exception)
            when (exception.Code == ErrorCode.Cancelled && !cancellationToken.IsCancellationRequested)
        {
            return TimeSpan.Zero;
        }

        _lease.Renew(sentAt, answer.SessionTimeout, answer.ReconnectGrace);
        queues.Apply(beat, answer);
        stream.Wake();

        // Asked not to wait, the broker names a pause; the next call is one that it may hold.
        return request.MaxWait > TimeSpan.Zero ? answer.NextHeartbeat : TimeSpan.Zero;
    }

    /// <summary>Until there is something to say.</summary>
    private async ValueTask RestAsync(TimeSpan pause)
    {
        _punctuality.Expect(pause);
        using var rest = CancellationTokenSource.CreateLinkedTokenSource(session.Closing);
        await Task.WhenAny(queues.News.Told, Task.Delay(pause, terms.Client.TimeProvider, rest.Token))
            .ConfigureAwait(false);
        await rest.CancelAsync().ConfigureAwait(false);
        _punctuality.Check();
    }

    /// <summary>What a failed call means for the membership.</summary>
    private async ValueTask OnFailedAsync(Beat? beat, EQueueException exception, int failures)
    {
        bool wasWhole = beat?.Request.Subscriptions is not null;
        switch (exception.Code)
        {
            case ErrorCode.FencedGeneration when failures == 1:
                // A call that was sent later came first, over another connection: what it changed holds.
                return;
            case ErrorCode.UnknownMember or ErrorCode.InvalidArgument when !wasWhole:
                // A new connection that was not seen in time: the broker had nothing to know the member by.
                queues.TellAllAgain();
                return;
            case ErrorCode.UnknownMember:
                Log.JoinsAgain(terms.Logger, terms.Member, terms.Group, exception.Code);
                queues.DropAll(isFinal: false);
                GiveUpUrgent();
                return;
            case ErrorCode.FencedGeneration or ErrorCode.InternalError:
            case var code when ErrorCodes.IsRetriable(code):
                break;
            default:
                session.Fail(exception);
                return;
        }

        if (exception.Code == ErrorCode.ConnectionLost)
            _lease.OnConnectionLost();
        if (failures == 1)
            Log.HeartbeatFailed(terms.Logger, terms.Group, link.Address, exception.Message);
        queues.TellAllAgain();

        // At once after a cut: the grace runs.
        await terms.Client.PauseAsync(failures - 1, session.Closing)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }
}
