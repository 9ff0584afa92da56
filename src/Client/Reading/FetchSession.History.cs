using EQueue.Protocol;

namespace EQueue.Client;

/// <content>The places of the cursors against the history of the broker's log (docs/history.md).</content>
internal sealed partial class FetchSession
{
    /// <summary>The opening that the broker's session was begun under; null = it knows of none.</summary>
    private HistoryMark? _opening;

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

        return await HistoryCheck
            .FindForksAsync(this, cursors, _gate, _client.RequestTimeout, _closing.Token).ConfigureAwait(false);
    }
}
