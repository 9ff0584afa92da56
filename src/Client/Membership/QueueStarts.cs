using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The loop that begins to read the queues which a broker has given to a member.</summary>
internal sealed class QueueStarts(
    MemberSession session, MemberTerms terms, MessageStream stream, FetchSession fetch, MemberQueues queues)
{
    private readonly TaskCompletionSource _isStarted = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Completes when the queues that were given first are read.</summary>
    public Task Started => _isStarted.Task;

    /// <summary>The session ends: nothing is waited for any more.</summary>
    public void GiveUp() => _isStarted.TrySetResult();

    public async Task RunAsync()
    {
        int failures = 0;
        while (!session.IsOver)
        {
            try
            {
                queues.Given.Reset();
                if (queues.TakeStarting() is { Length: > 0 } starting)
                {
                    await StartAsync(starting).ConfigureAwait(false);
                    failures = 0;
                }
                else
                {
                    _isStarted.TrySetResult();
                    await queues.Given.Told.WaitAsync(session.Closing).ConfigureAwait(false);
                }
            }
            catch (OperationCanceledException)
            {
                return;
            }
            catch (EQueueException exception)
            {
                await OnFailedAsync(exception, ++failures).ConfigureAwait(false);
            }
        }
    }

    private async ValueTask OnFailedAsync(EQueueException exception, int failures)
    {
        if (session.Closing.IsCancellationRequested)
            return;

        // A queue that is gone leaves the list as well; until then the answer may be older than the deletion.
        if (!ErrorCodes.IsRetriable(exception.Code)
            && exception.Code is not (ErrorCode.UnknownQueue or ErrorCode.InternalError))
        {
            session.Fail(exception);
            return;
        }

        Log.StartFailed(terms.Logger, terms.Group, fetch.Link.Address, exception.Message);
        await terms.Client.PauseAsync(failures, session.Closing, exception.RetryAfter)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Begins where the group has committed, or where the options say.</summary>
    private async ValueTask StartAsync(MemberQueue[] starting)
    {
        (List<(MemberQueue Queue, QueueCursor Cursor)> made, LogHistory? history) = await fetch.Places
            .InOneHistoryAsync(() => FindPlacesAsync(starting), session.Closing).ConfigureAwait(false);
        List<QueueCursor> begun = [];
        foreach ((MemberQueue queue, QueueCursor cursor) in made)
        {
            cursor.History = cursor.CommittedIn = history;
            if (queues.TryBegin(queue, cursor))
                begun.Add(cursor);
        }

        if (begun.Count > 0)
        {
            Log.QueuesGained(
                terms.Logger, terms.Group, begun.Count, fetch.Link.Address, MemberSession.NamesOf(begun));
            await session.TellAsync(terms.Options.Assigned, begun).ConfigureAwait(false);
        }

        foreach (QueueCursor cursor in begun)
            fetch.Add(cursor);
        stream.Wake();
    }

    private async ValueTask<List<(MemberQueue Queue, QueueCursor Cursor)>> FindPlacesAsync(MemberQueue[] starting)
    {
        QueueKey[] keys = [.. starting.Select(static queue => queue.Key)];
        Dictionary<QueueKey, long> places = [];
        if (terms.KeepsProgress)
        {
            ReadOffsetsResponse answer = await fetch.Link.InvokeAsync(
                new ReadOffsetsRequest(terms.ProgressName, keys), terms.Client.RequestTimeout, session.Closing)
                .ConfigureAwait(false);
            places = answer.Offsets.ToDictionary(static one => one.Queue, static one => one.Next.Value);
        }

        List<(MemberQueue Queue, QueueCursor Cursor)> made = [];
        foreach (MemberQueue queue in starting)
        {
            long committed = places.GetValueOrDefault(queue.Key, -1);
            made.Add((queue, await FindPlaceAsync(queue, committed).ConfigureAwait(false)));
        }

        return made;
    }

    private async ValueTask<QueueCursor> FindPlaceAsync(MemberQueue queue, long committed)
    {
        StartPosition startAt = terms.Options.StartAt;
        QueueOffset start = committed >= 0
            ? new QueueOffset(committed)
            : startAt.KnownOffset ?? (await fetch.Places
                .FindOffsetAsync(startAt.ToQuestion(queue.Key), session.Closing).ConfigureAwait(false)).Offset;
        var cursor = new QueueCursor(queue.Topic, queue.Number, queue.Key, start)
        {
            Owner = session,
            Session = fetch,
            Committed = committed,
        };
        if (terms.Options.StopAtEnd)
        {
            var end = new OffsetQuestion(queue.Key, OffsetQuestion.End);
            (QueueOffset stop, _) = await fetch.Places.FindOffsetAsync(end, session.Closing).ConfigureAwait(false);
            cursor.StopAt = stop.Value;
            cursor.VisibleEnd = cursor.StopAt;
        }

        return cursor;
    }
}
