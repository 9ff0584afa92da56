using System.Diagnostics.CodeAnalysis;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A member's commits at one broker, and the loop that releases queues, whose last commit ends them.</summary>
/// <remarks>Owns the turn of commits: one at a time, and a release marks its queues within its turn, so that no commit
/// of them can follow its own.</remarks>
[SuppressMessage("Design", "CA1001", Justification = "A semaphore without a wait handle holds nothing.")]
internal sealed class QueueReleases(
    MemberSession session,
    MemberTerms terms,
    MessageStream stream,
    BrokerLink link,
    MemberQueues queues,
    Heartbeats beats)
{
    private readonly SemaphoreSlim _commitTurn = new(1, 1);

    /// <summary>Releases queues until the session ends.</summary>
    public async Task RunAsync()
    {
        while (!session.IsOver)
        {
            try
            {
                queues.Taken.Reset();
                if (queues.TakeRevoked() is { Length: > 0 } revoked)
                    await ReleaseAsync(revoked).ConfigureAwait(false);
                else
                    await queues.Taken.Told.WaitAsync(session.Closing).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }
        }
    }

    /// <summary>Commits what is processed of queues of this broker.</summary>
    /// <param name="cursors">Queues; those given up since are left out.</param>
    /// <param name="isNamed">The application named them: one that was given up is an error.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="places">Where each of them is committed; null: where it is processed.</param>
    /// <exception cref="EQueueException">The request failed, or the first queue that did.</exception>
    public async ValueTask CommitAsync(
        IReadOnlyList<QueueCursor> cursors,
        bool isNamed,
        CancellationToken cancellationToken,
        IReadOnlyDictionary<QueueCursor, long>? places = null)
    {
        try
        {
            await CommitOnceAsync(cursors, isNamed, isLast: false, places, cancellationToken).ConfigureAwait(false);
        }
        catch (EQueueException exception) when (exception.Code is ErrorCode.UnknownMember or ErrorCode.FencedGeneration)
        {
            // A broker that was restarted learns of the member by its next call, and the grants are new then: it has
            // not come, or its answer has not.
            await AskWhetherMemberAsync(cancellationToken).ConfigureAwait(false);
            if (cursors.Any(static cursor => cursor.IsGivenUp))
                throw;
            await CommitOnceAsync(cursors, isNamed, isLast: true, places, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Commits, and only logs that it could not.</summary>
    public async ValueTask TryCommitAsync(IReadOnlyList<QueueCursor> cursors, CancellationToken cancellationToken)
    {
        try
        {
            if (terms.KeepsProgress)
                await CommitAsync(cursors, isNamed: false, cancellationToken).ConfigureAwait(false);
        }
        catch (EQueueException exception)
        {
            if (!cancellationToken.IsCancellationRequested)
                Log.CommitFailed(terms.Logger, terms.Group, exception.Message);
        }
    }

    /// <summary>
    /// The last commit of a member that leaves: also where its broker is just being restarted, which is waited for as
    /// long as there is progress to commit.
    /// </summary>
    public async ValueTask CommitBeforeLeavingAsync(IReadOnlyList<QueueCursor> cursors, CancellationToken patience)
    {
        for (int attempt = 1; ; attempt++)
        {
            // A queue that was begun and not read on has a place to commit as well, which is worth no wait.
            int count = cursors.Count(static cursor => cursor.HasUncommitted);
            if (count == 0 && (attempt > 1 || !link.Remoting.IsConnected))
            {
                int lost = cursors.Count(static cursor => cursor.IsGivenUp && cursor.Processed > cursor.Committed);
                if (lost > 0)
                    Log.LeftUncommitted(terms.Logger, terms.Group, lost, "the queues are no longer this member's");
                return;
            }

            try
            {
                if (!link.Remoting.IsConnected)
                    await link.ConnectAsync(Timeout.InfiniteTimeSpan, patience).ConfigureAwait(false);
                await CommitAsync(cursors, isNamed: false, patience).ConfigureAwait(false);
                return;
            }
            catch (EQueueException exception)
                when (IsPassing(exception.Code) && !patience.IsCancellationRequested)
            {
                await terms.Client.PauseAsync(attempt, patience, exception.RetryAfter)
                    .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }
            catch (Exception exception) when (exception is EQueueException or OperationCanceledException)
            {
                string reason = patience.IsCancellationRequested
                    ? link.Trouble ?? "the broker did not answer in time" : exception.Message.TrimEnd('.');
                if (count > 0)
                    Log.LeftUncommitted(terms.Logger, terms.Group, count, reason);
                return;
            }
        }
    }

    /// <summary>A broker that was restarted does not know its members before they have called.</summary>
    private static bool IsPassing(ErrorCode code) => ErrorCodes.IsRetriable(code) || code == ErrorCode.UnknownMember;

    private async ValueTask AskWhetherMemberAsync(CancellationToken cancellationToken)
    {
        try
        {
            await beats.BeatNowAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            // No answer: the commit fails by itself.
        }
    }

    private async ValueTask CommitOnceAsync(
        IReadOnlyList<QueueCursor> cursors,
        bool isNamed,
        bool isLast,
        IReadOnlyDictionary<QueueCursor, long>? places,
        CancellationToken cancellationToken)
    {
        await _commitTurn.WaitAsync(cancellationToken).ConfigureAwait(false);
        EQueueException? failure;
        try
        {
            QueueCursor? gone = isNamed ? cursors.FirstOrDefault(static cursor => cursor.IsGivenUp) : null;
            failure = await SendAsync(
                [.. cursors.Where(static cursor => !cursor.IsGivenUp)], isLast, places, cancellationToken)
                .ConfigureAwait(false);
            if (gone is not null)
                failure ??= GroupCommit.Refused(ErrorCode.QueueNotOwned, terms.Group, gone);
        }
        finally
        {
            _commitTurn.Release();
        }

        if (failure is not null)
            throw failure;
    }

    /// <summary>Within the turn.</summary>
    /// <param name="cursors">The queues.</param>
    /// <param name="isLast">Whether no other attempt follows: a queue that is this member's under another grant is lost
    /// then.</param>
    /// <param name="places">Where each of them is committed; null: where it is processed.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>The first refusal.</returns>
    private async ValueTask<EQueueException?> SendAsync(
        IReadOnlyList<QueueCursor> cursors,
        bool isLast,
        IReadOnlyDictionary<QueueCursor, long>? places,
        CancellationToken cancellationToken)
    {
        EQueueException? failure = null;
        IReadOnlyList<(QueueCursor Cursor, ErrorCode Error)> refusals = await GroupCommit.SendAsync(
            link, terms.Group, terms.Member, cursors, terms.Client.RequestTimeout, cancellationToken, places)
            .ConfigureAwait(false);
        foreach ((QueueCursor cursor, ErrorCode error) in refusals)
        {
            if (error == ErrorCode.QueueNotOwned || (isLast && error == ErrorCode.FencedGeneration))
                queues.OnLost(cursor);
            failure ??= GroupCommit.Refused(error, terms.Group, cursor);
        }

        return failure;
    }

    /// <summary>
    /// The application has left these queues: it is told, their last commit is made, and the next heartbeat gives them
    /// up.
    /// </summary>
    private async ValueTask ReleaseAsync(MemberQueue[] revoked)
    {
        long begun = terms.Client.TimeProvider.GetTimestamp();
        QueueCursor[] cursors = [.. revoked.Select(static queue => queue.Cursor!)];
        await session.TellAsync(terms.Options.Revoking, cursors).ConfigureAwait(false);
        for (int attempt = 1; !await TryCommitLastAsync(cursors).ConfigureAwait(false); attempt++)
        {
            if (terms.Client.TimeProvider.GetElapsedTime(begun) >= terms.Options.ReleaseTimeout)
                break;
            await terms.Client.PauseAsync(attempt, session.Closing).ConfigureAwait(false);
        }

        queues.Release(revoked);
        foreach (QueueCursor cursor in cursors)
            stream.Remove(cursor);
        Log.QueuesGivenUp(terms.Logger, terms.Group, cursors.Length, link.Address, MemberSession.NamesOf(cursors));
    }

    /// <summary>From here on the queues are in no other commit.</summary>
    /// <returns>False if another attempt may succeed.</returns>
    private async ValueTask<bool> TryCommitLastAsync(QueueCursor[] cursors)
    {
        EQueueException? failure;
        await _commitTurn.WaitAsync(session.Closing).ConfigureAwait(false);
        try
        {
            // Lost meanwhile, or gone: no member is left to commit it.
            QueueCursor[] held = [.. cursors.Where(queues.IsHeld)];
            foreach (QueueCursor cursor in held)
                cursor.IsGivenUp = true;
            bool isDue = terms.Options.AutoCommit && terms.KeepsProgress;
            failure = isDue ? await SendAsync(held, isLast: true, null, session.Closing).ConfigureAwait(false) : null;
        }
        catch (EQueueException exception)
        {
            failure = exception;
        }
        finally
        {
            _commitTurn.Release();
        }

        if (failure is null || session.Closing.IsCancellationRequested)
            return true;
        if (failure.Code == ErrorCode.UnknownMember)
            await AskWhetherMemberAsync(session.Closing).ConfigureAwait(false);
        else if (!ErrorCodes.IsRetriable(failure.Code))
            Log.CommitFailed(terms.Logger, terms.Group, failure.Message);
        return failure.Code != ErrorCode.UnknownMember && !ErrorCodes.IsRetriable(failure.Code);
    }
}
