using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Begins to read the queues that were given.</content>
internal sealed partial class MemberSession
{
    private readonly WakeSignal _starts = new();

    private async Task RunStartsAsync()
    {
        int failures = 0;
        while (!_closing.IsCancellationRequested && _failure is null)
        {
            try
            {
                _starts.Reset();
                if (TakeStarting() is { Length: > 0 } queues)
                {
                    await StartAsync(queues).ConfigureAwait(false);
                    failures = 0;
                }
                else
                {
                    _isStarted.TrySetResult();
                    await _starts.Told.WaitAsync(_closing.Token).ConfigureAwait(false);
                }
            }
            catch (OperationCanceledException)
            {
                return;
            }
            catch (EQueueException exception)
            {
                await OnStartFailedAsync(exception, ++failures).ConfigureAwait(false);
            }
        }
    }

    private MemberQueue[] TakeStarting()
    {
        lock (_gate)
        {
            return _isLeaving
                ? []
                : [.. _queues.Values.Where(static queue => queue.Place == MemberQueue.Stage.Starting)];
        }
    }

    private async ValueTask OnStartFailedAsync(EQueueException exception, int failures)
    {
        if (_closing.IsCancellationRequested)
            return;

        // A queue that is gone leaves the list as well; until then the answer may be older than the deletion.
        if (!ErrorCodes.IsRetriable(exception.Code)
            && exception.Code is not (ErrorCode.UnknownQueue or ErrorCode.InternalError))
        {
            Fail(exception);
            return;
        }

        Log.StartFailed(_terms.Logger, _terms.Group, Link.Address, exception.Message);
        try
        {
            await Task.Delay(
                _terms.Client.ReconnectBackoffMin * Math.Min(failures, 20),
                _terms.Client.TimeProvider,
                _closing.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The loop ends at its head.
        }
    }

    /// <summary>Begins where the group has committed, or where the options say.</summary>
    private async ValueTask StartAsync(MemberQueue[] queues)
    {
        (List<(MemberQueue Queue, QueueCursor Cursor)> made, LogHistory? history) =
            await _fetch.InOneHistoryAsync(() => FindPlacesAsync(queues), _closing.Token)
            .ConfigureAwait(false);
        List<QueueCursor> begun = [];
        lock (_gate)
        {
            foreach ((MemberQueue queue, QueueCursor cursor) in made)
            {
                cursor.History = cursor.CommittedIn = history;
                if (_isLeaving || !IsCurrent(queue) || queue.Place != MemberQueue.Stage.Starting)
                    continue;
                queue.Begin(cursor);
                _stream.Announce(_fetch, cursor);
                begun.Add(cursor);
            }
        }

        if (begun.Count > 0)
            Log.QueuesGained(_terms.Logger, _terms.Group, begun.Count, Link.Address, NamesOf(begun));
        if (begun.Count > 0)
            await TellAsync(_terms.Options.Assigned, begun).ConfigureAwait(false);
        foreach (QueueCursor cursor in begun)
            _fetch.Add(cursor);
        _stream.Wake();
    }

    private async ValueTask<List<(MemberQueue Queue, QueueCursor Cursor)>> FindPlacesAsync(MemberQueue[] queues)
    {
        QueueKey[] keys = [.. queues.Select(static queue => queue.Key)];
        Dictionary<QueueKey, long> places = [];
        if (_terms.KeepsProgress)
        {
            ReadOffsetsResponse answer = await Link.InvokeAsync(
                new ReadOffsetsRequest(_terms.ProgressName, keys), _terms.Client.RequestTimeout, _closing.Token)
                .ConfigureAwait(false);
            places = answer.Offsets.ToDictionary(static one => one.Queue, static one => one.Next.Value);
        }

        List<(MemberQueue Queue, QueueCursor Cursor)> made = [];
        foreach (MemberQueue queue in queues)
        {
            long committed = places.GetValueOrDefault(queue.Key, -1);
            made.Add((queue, await FindPlaceAsync(queue, committed).ConfigureAwait(false)));
        }

        return made;
    }

    /// <summary>As people read them; the first of many.</summary>
    private static string NamesOf(IReadOnlyCollection<QueueCursor> cursors)
    {
        const int Most = 20;
        string names = string.Join(", ", cursors.Take(Most).Select(static cursor => $"{cursor.Topic}/{cursor.Number}"));
        return cursors.Count > Most ? names + ", ..." : names;
    }

    private async ValueTask<QueueCursor> FindPlaceAsync(MemberQueue queue, long committed)
    {
        StartPosition startAt = _terms.Options.StartAt;
        QueueOffset start = committed >= 0
            ? new QueueOffset(committed)
            : startAt.KnownOffset ?? (await _fetch
                .FindOffsetAsync(startAt.ToQuestion(queue.Key), _closing.Token).ConfigureAwait(false)).Offset;
        var cursor = new QueueCursor(queue.Topic, queue.Number, queue.Key, start)
        {
            Owner = this,
            Session = _fetch,
            Committed = committed,
        };
        if (_terms.Options.StopAtEnd)
        {
            var end = new OffsetQuestion(queue.Key, OffsetQuestion.End);
            cursor.StopAt = (await _fetch.FindOffsetAsync(end, _closing.Token).ConfigureAwait(false)).Offset.Value;
            cursor.VisibleEnd = cursor.StopAt;
        }

        return cursor;
    }

    /// <summary>Lets the application know of queues that come or go.</summary>
    private async ValueTask TellAsync(
        Func<IReadOnlyList<QueueProgress>, CancellationToken, ValueTask>? callback, IReadOnlyList<QueueCursor> cursors)
    {
        if (callback is null)
            return;
        try
        {
            await callback([.. cursors.Select(static cursor => cursor.ToProgress())], _closing.Token)
                .ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (_closing.IsCancellationRequested)
        {
            // The session ends meanwhile.
        }
        catch (Exception exception)
        {
            // Whatever the application throws, it must not keep a queue from its next owner.
            Log.MemberCallbackThrew(_terms.Logger, exception);
        }
    }
}
