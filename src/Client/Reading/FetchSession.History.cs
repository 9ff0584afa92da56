using EQueue.Protocol;

namespace EQueue.Client;

/// <content>The places of the cursors against the history of the broker's log (docs/history.md).</content>
internal sealed partial class FetchSession
{
    /// <summary>The opening that the broker's session was begun under; null = it knows of none.</summary>
    private HistoryMark? _opening;

    /// <summary>Asks something about places until the question and its answer went over one connection, so that the
    /// answer belongs to one history.</summary>
    public async ValueTask<(T Answer, LogHistory? History)> InOneHistoryAsync<T>(
        Func<ValueTask<T>> ask, CancellationToken cancellationToken)
    {
        while (true)
        {
            if (Link.Hello is null)
                await Link.ConnectAsync(_client.RequestTimeout, cancellationToken).ConfigureAwait(false);
            LogHistory? history = Link.History;
            T? answer = await ask().ConfigureAwait(false);
            if (Link.History?.Opening == history?.Opening)
                return (answer, history);
        }
    }

    /// <summary>The reader did not go back to the fork: asked for again, the queue is judged again.</summary>
    public void ForgetFork(QueueCursor cursor)
    {
        lock (_gate)
            cursor.Fork = null;
    }

    /// <summary>Whether a place that the next fetch would name was read in another history. Where none was known yet,
    /// the place is one of this history from here on. Under the gate.</summary>
    private bool MustCheck()
    {
        bool isNew = _sessionId == 0;
        LogHistory? history = Link.History;
        if (isNew)
            _opening = history?.Opening;
        foreach (QueueCursor cursor in isNew ? _queues.Values : (IReadOnlyCollection<QueueCursor>)_changed)
        {
            if (cursor.IsPaused || cursor.IsRemoved || cursor.Fork is not null)
                continue;
            if (history is null || cursor.History is null)
                cursor.History = history;
            else if (IsForeign(cursor, history))
                return true;
        }

        return false;
    }

    private static bool IsForeign(QueueCursor cursor, LogHistory history) =>
        cursor.History is { } known && known.Opening != history.Opening;

    /// <summary>Under the gate.</summary>
    private void BeginCheck()
    {
        _isRecovering = true;
        Task previous = _recovery;
        _recovery = Task.Run(() => CheckAsync(previous));
    }

    private async Task CheckAsync(Task previous)
    {
        await previous.ConfigureAwait(false);
        EQueueException? failure = null;
        FetchedAnswer? forks = null;
        try
        {
            forks = await JudgeAsync().ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            return;
        }
        catch (EQueueException exception)
        {
            if (_closing.IsCancellationRequested)
                return;
            failure = exception;
        }

        lock (_gate)
            _isRecovering = false;
        if (forks is not null)
            _stream.Post(forks);
        _stream.Wake(); // an end to stop at may have come nearer
        if (failure is null)
            Pump();
        else
            Recover(failure);
    }

    /// <summary>Has the broker judge every place of another history than its own.</summary>
    /// <returns>The queues whose reader has come beyond the fork; null without any.</returns>
    private async ValueTask<FetchedAnswer?> JudgeAsync()
    {
        QueueCursor[] cursors;
        lock (_gate)
        {
            cursors = Link.History is { } now
                ? [.. _queues.Values.Where(cursor =>
                    !cursor.IsRemoved && cursor.Fork is null && IsForeign(cursor, now))]
                : [];
        }

        FetchedAnswer? forks = null;
        foreach (IGrouping<LogHistory, QueueCursor> share in cursors.GroupBy(static cursor => cursor.History!))
        {
            foreach (QueueCursor[] some in share.Chunk(CheckHistoryRequest.MaxPlaces))
            {
                (QueueCursor Cursor, int Version, QueueOffset Farthest)[] asked;
                lock (_gate)
                    asked = [.. some.Select(static one => (one, one.Version, one.Farthest))];
                QueuePlace[] places =
                    Array.ConvertAll(asked, static one => new QueuePlace(one.Cursor.Key, one.Farthest));
                CheckHistoryResponse answer = await HistoryCheck.JudgeAsync(
                    Link, share.Key, places, _client.RequestTimeout, _closing.Token).ConfigureAwait(false);
                lock (_gate)
                {
                    for (int i = 0; i < asked.Length; i++)
                    {
                        (QueueCursor cursor, int version, QueueOffset _) = asked[i];
                        if (cursor.Version == version && cursor.History == share.Key && !cursor.IsRemoved)
                            Settle(cursor, answer.Forks[i], answer.History, ref forks);
                    }
                }
            }
        }

        return forks;
    }

    /// <summary>Under the gate.</summary>
    private void Settle(QueueCursor cursor, QueueOffset end, LogHistory history, ref FetchedAnswer? forks)
    {
        if (end != CheckHistoryResponse.Fits)
        {
            cursor.VisibleEnd = Math.Min(cursor.VisibleEnd, end.Value);
            cursor.StopAt = Math.Min(cursor.StopAt, end.Value); // -1 stays
        }

        if (end == CheckHistoryResponse.Fits || cursor.FetchNext <= end)
        {
            cursor.History = history;
            return;
        }

        cursor.Fork = new HistoryFork(end, history);
        cursor.IsInSession = false;
        forks ??= new FetchedAnswer(this);
        forks.Queues.Add(new FetchedQueue(
            cursor, cursor.Version, ErrorCode.DivergingEpoch, cursor.FetchNext.Value, end.Value, default));
    }
}
