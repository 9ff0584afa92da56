using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Fills answers: reads the ready queues of a session in turns, from memory and a little from disk.</summary>
/// <remarks>Works for the thread that serves the session; keeps nothing itself.</remarks>
internal sealed class FetchReader
{
    private const int DiskReadsPerAnswer = 4;

    /// <summary>Cold bytes come in small answers beside producers: a large one would hold cores and socket long enough
    /// to be felt by them. An answer holds what the budget gives in so many parts of a second, within bounds.</summary>
    private const int ColdAnswersPerSecond = 512;

    private const int LeastColdBytes = 128 << 10;
    private const int MostColdBytes = 1 << 20;

    /// <summary>Queues passed over in search of one that memory serves.</summary>
    private const int MaxSkipped = 64;

    /// <summary>Reads of one turn that pass over as much as one may: a fraction of a millisecond of a thread.</summary>
    private const int MaxLongPasses = 16;

    private const int FrameMargin = 4 << 10;

    private readonly QueueStore _store;
    private readonly TopicCatalogue _catalogue;
    private readonly LimitOptions _limits;
    private readonly FetchSessions _sessions;
    private readonly FetchQuotas _quotas;
    private readonly PassedQueues _passed;

    public FetchReader(
        ModuleContext context,
        TopicCatalogue catalogue,
        FetchSessions sessions,
        FetchQuotas quotas,
        PassedQueues passed)
    {
        _store = context.Store;
        _catalogue = catalogue;
        _limits = context.Limits;
        _sessions = sessions;
        _quotas = quotas;
        _passed = passed;
    }

    /// <summary>Begins an answer to the request of a session.</summary>
    /// <param name="session">Served by the caller.</param>
    /// <param name="budget">The memory for answers that were not taken.</param>
    /// <param name="isLast">Whether the broker stops: nothing rests and nothing waits for memory any more.</param>
    public FetchAnswer Begin(FetchSession session, SendBudget budget, bool isLast)
    {
        int size = Math.Clamp(
            session.LastAnswerBytes + (session.LastAnswerBytes >> 2),
            AnswerMemory.SmallestBuffer,
            _limits.MaxFetchBytes);
        FetchAnswer answer = session.TakeAnswer();
        int limit = AnswerMemory.Grant(budget, session.Request.MaxBytes);
        answer.Begin(AnswerMemory.RentFrame(budget, Math.Min(size, limit + FrameMargin)), limit);
        answer.Limit = _quotas.ShareOf(session.Peer, limit);
        answer.IsTight = budget.IsSpent && !isLast;
        answer.MayRest = !isLast;
        return answer;
    }

    /// <summary>Fills an answer.</summary>
    public async ValueTask GatherAsync(FetchSession session, FetchAnswer answer)
    {
        session.Served.Clear();
        answer.Frame!.Reserve(FetchResponseHeader.Size);
        int turns = session.ReadyCount;
        int skipped = 0;
        int longest = session.Peer.MaxFrameBytes - FrameHeader.Size;
        int mostCold = (int)Math.Clamp(_store.ColdReadBudget / ColdAnswersPerSecond, LeastColdBytes, MostColdBytes);
        SendBudget budget = session.Peer.Transport.SendBudget;
        while (turns-- > 0
            && answer.EntryBytes < answer.Limit
            && answer.Frame.WrittenCount + FrameMargin < longest
            && session.TakeReady(HasColdRoom(answer, mostCold)) is { } queue)
        {
            if (queue.IsGone)
                continue;
            if (Refusal(session, queue) is var refusal and not ErrorCode.None)
            {
                AddError(session, queue, answer, refusal);
                continue;
            }

            int wanted = queue.MaxBytes;
            if (_quotas.TryRest(session, queue, answer.MayRest, ref wanted))
                continue;
            int start = answer.Frame.WrittenCount;
            answer.Frame.Reserve(FetchedQueueHeader.Size);
            int room = Math.Min(answer.Limit - answer.EntryBytes, longest - answer.Frame.WrittenCount);
            int maxBytes = Math.Max(1, Math.Min(wanted, room));
            ReadResult read;
            try
            {
                read = Read(session, queue, maxBytes, answer.Frame);
                if (read.NeedsDisk)
                {
                    long taken = AnswerMemory.ColdReadBytes(budget, _limits);
                    if (!HasColdRoom(answer, mostCold) || !TryTakeCold(answer, budget, taken))
                    {
                        answer.Frame.Truncate(start);
                        session.Cold.Enqueue(queue);
                        if (++skipped >= MaxSkipped)
                            break;
                        continue;
                    }

                    answer.DiskReads++;
                    int most = Math.Min(maxBytes, mostCold - answer.ColdBytes);
                    read = await ReadFromDiskAsync(session, queue, most, answer.Frame, budget, taken);
                    answer.ColdBytes += read.Size;
                }
            }
            catch (SendMemoryException)
            {
                answer.Frame.Truncate(start);
                answer.LacksMemory = true;
                session.HeldBack = queue;
                break;
            }

            if (!TryTake(session, queue, answer, read, start, longest) || answer.LongPasses == MaxLongPasses)
                break;
        }

        session.IsPassing = answer.LongPasses > 0;
        foreach (SessionQueue served in session.Served)
            session.Ready.Enqueue(served);
    }

    /// <summary>Whether another queue may be read from disk: not for the little that is left of an answer.</summary>
    private static bool HasColdRoom(FetchAnswer answer, int mostCold) =>
        !answer.LacksMemory && answer.ColdBytes < mostCold / 2 && answer.DiskReads < DiskReadsPerAnswer;

    /// <summary>Takes memory for a read from disk; without it the answer reads from disk no more.</summary>
    private static bool TryTakeCold(FetchAnswer answer, SendBudget budget, long bytes)
    {
        answer.LacksMemory |= !budget.TryTake(bytes);
        return !answer.LacksMemory;
    }

    /// <summary>Why a queue is not read now.</summary>
    private ErrorCode Refusal(FetchSession session, SessionQueue queue)
    {
        if (queue.Refusal != ErrorCode.None)
            return queue.Refusal;
        if (queue.Topic is { } topic && !session.Access.PermitRead(topic))
            return ErrorCode.NotAuthorized;
        return _catalogue.IsReadable(queue.Key.Id) ? ErrorCode.None : ErrorCode.QueueNotReadable;
    }

    /// <summary>
    /// Reads from memory; a queue with nothing to give leaves the ready list and is watched from then on.
    /// </summary>
    private ReadResult Read(FetchSession session, SessionQueue queue, int maxBytes, FrameBuffer frame)
    {
        ReadResult read = ReadOnce(session, queue, maxBytes, frame);
        if (read.Error != ErrorCode.None || read.Size > 0 || read.NeedsDisk || queue.IsWatched
            || PassedQueues.HasMore(queue, read))
        {
            return read;
        }

        queue.IsWatched = _store.Watch(queue.Key.Id, queue.Next, session);
        return queue.IsWatched ? read : ReadOnce(session, queue, maxBytes, frame);
    }

    /// <summary>Reads from disk, with memory that is taken for it and given back.</summary>
    private async ValueTask<ReadResult> ReadFromDiskAsync(
        FetchSession session, SessionQueue queue, int maxBytes, FrameBuffer frame, SendBudget budget, long taken)
    {
        try
        {
            ReadResult read = await _store.ReadFromDiskAsync(
                queue.Key.Id, queue.Next, maxBytes, queue.TagMask, frame, session.Peer.Closed);
            _passed.PassOver(session, queue, read);
            return read;
        }
        finally
        {
            budget.Give(taken);
        }
    }

    private ReadResult ReadOnce(FetchSession session, SessionQueue queue, int maxBytes, FrameBuffer frame)
    {
        ReadResult read = _store.Read(queue.Key.Id, queue.Next, maxBytes, queue.TagMask, frame);
        _passed.PassOver(session, queue, read);
        return read;
    }

    /// <summary>Takes what was read for a queue into the answer.</summary>
    /// <returns>False when the frame is full: the queue's turn comes first in the next answer.</returns>
    private bool TryTake(
        FetchSession session, SessionQueue queue, FetchAnswer answer, in ReadResult read, int start, int longest)
    {
        FrameBuffer frame = answer.Frame!;
        if (read.Error != ErrorCode.None)
        {
            frame.Truncate(start);
            AddError(session, queue, answer, read.Error, read);
            return true;
        }

        if (read.Size == 0)
        {
            frame.Truncate(start);
            queue.IsReady = false;
            bool hasMore = PassedQueues.HasMore(queue, read);
            if (hasMore)
                answer.LongPasses++;
            if (hasMore || !queue.IsWatched)
                session.MakeReady(queue);
            return true;
        }

        bool isTooMuch = answer.IsTight && read.Size > AnswerMemory.SmallAnswerBytes;
        if (isTooMuch || frame.WrittenCount > longest)
        {
            frame.Truncate(start);
            answer.LacksMemory |= isTooMuch;
            if (answer.QueueCount > 0 || isTooMuch)
            {
                session.HeldBack = queue;
                return false;
            }

            AddError(session, queue, answer, ErrorCode.MessageTooLarge, read);
            return true;
        }

        new FetchedQueueHeader(
            queue.Key.Id, queue.Key.Log, ErrorCode.None, read.Start, read.VisibleEnd, read.NextOffset, -1, read.Size)
            .Write(frame.Slice(start, FetchedQueueHeader.Size));
        queue.NextAfterAnswer = read.NextOffset;
        queue.GivenBytes = read.Size;
        session.Served.Add(queue);
        answer.IsCut |= read.NextOffset.Value < read.VisibleEnd.Value;
        answer.EntryBytes += read.Size;
        answer.QueueCount++;
        answer.IsBounded |= _passed.IsBounded(queue);
        return true;
    }

    private void AddError(
        FetchSession session, SessionQueue queue, FetchAnswer answer, ErrorCode error, in ReadResult read = default)
    {
        _passed.Tell(queue, answer);
        QueueOffset start = read.Start;
        QueueOffset end = read.VisibleEnd;
        if (_store.TryGetQueue(queue.Key.Id, out QueueView view) && error != ErrorCode.UnknownQueue)
            (start, end) = (view.Start, view.End);
        QueueOffset next = error == ErrorCode.DamagedData ? read.NextOffset : queue.Next;
        int epoch = error == ErrorCode.DivergingEpoch ? _store.Epoch : -1;
        new FetchedQueueHeader(queue.Key.Id, queue.Key.Log, error, start, end, next, epoch, 0)
            .Write(answer.Frame!.Reserve(FetchedQueueHeader.Size));
        answer.QueueCount++;
        answer.HasErrors = true;
        _sessions.Leave(session, queue);
    }
}
