namespace EQueue.Client;

/// <content>Commits: the application's own, and those of the loop, each broker's by itself.</content>
internal sealed partial class GroupMember
{
    /// <summary>Commits everything that is processed.</summary>
    /// <exception cref="EQueueException">The first failure; the other brokers are told all the same.</exception>
    public async ValueTask CommitAsync(CancellationToken cancellationToken)
    {
        EQueueException? failure = null;
        foreach (MemberSession session in Sessions)
        {
            try
            {
                await session.CommitAsync(session.Cursors(), isNamed: false, cancellationToken).ConfigureAwait(false);
            }
            catch (EQueueException exception)
            {
                failure ??= exception;
            }
        }

        if (failure is not null)
            throw failure;
    }

    /// <summary>Commits one queue.</summary>
    /// <exception cref="EQueueException">QueueNotOwned: it is not this member's, or no longer. Others.</exception>
    public ValueTask CommitAsync(QueueCursor cursor, CancellationToken cancellationToken) =>
        cursor.Owner is MemberSession owner && Array.IndexOf(Sessions, owner) >= 0
            ? owner.CommitAsync([cursor], isNamed: true, cancellationToken)
            : throw GroupCommit.Refused(ErrorCode.QueueNotOwned, _terms.Group, cursor);

    /// <summary>Commits queues at places of their own.</summary>
    /// <exception cref="EQueueException">The first failure; the other brokers are told all the same.</exception>
    public async ValueTask CommitAsync(
        IReadOnlyDictionary<QueueCursor, long> places, CancellationToken cancellationToken)
    {
        EQueueException? failure = null;
        foreach (IGrouping<IReadingMember?, QueueCursor> share in places.Keys.GroupBy(static cursor => cursor.Owner))
        {
            try
            {
                if (share.Key is not MemberSession owner || Array.IndexOf(Sessions, owner) < 0)
                    throw GroupCommit.Refused(ErrorCode.QueueNotOwned, _terms.Group, share.First());
                await owner.CommitAsync([.. share], isNamed: true, cancellationToken, places).ConfigureAwait(false);
            }
            catch (EQueueException exception)
            {
                failure ??= exception;
            }
        }

        if (failure is not null)
            throw failure;
    }

    /// <summary>Commits at every interval, and when senders wait for it.</summary>
    private async Task RunCommitsAsync()
    {
        Dictionary<MemberSession, Task> running = [];
        List<Task> late = [];
        try
        {
            Task? interval = null;
            while (true)
            {
                if (interval is not { IsCompleted: false })
                {
                    interval = Task.Delay(
                        _terms.Options.AutoCommitInterval, _terms.Client.TimeProvider, _closing.Token);
                }

                await (await Task.WhenAny([interval, _commitDue.Told, .. late]).ConfigureAwait(false))
                    .ConfigureAwait(false);
                _commitDue.Reset();
                late.Clear();
                MemberSession[] sessions = Sessions;
                foreach (MemberSession session in sessions)
                {
                    if (await TryBeginCommitAsync(session, running).ConfigureAwait(false) is { } before)
                        late.Add(before);
                }

                foreach (MemberSession? gone in running.Keys.Except(sessions).ToArray())
                {
                    if (running[gone].IsCompleted)
                        running.Remove(gone);
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The member ends.
        }

        await Task.WhenAll(running.Values).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Begins a broker's commit without waiting for it: one that does not answer holds up no other.</summary>
    /// <returns>The one before, if that is not answered yet: this one is due behind it.</returns>
    private async ValueTask<Task?> TryBeginCommitAsync(MemberSession session, Dictionary<MemberSession, Task> running)
    {
        if (running.Remove(session, out Task? before))
        {
            if (!before.IsCompleted)
                return running[session] = before;
            await before.ConfigureAwait(false);
        }

        running[session] = session.TryCommitAsync(session.Cursors(), _closing.Token).AsTask();
        return null;
    }
}
