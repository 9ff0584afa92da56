using System.Buffers;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Serves what is no longer in memory: finds it by the index, reads it in few large reads, checks every CRC.
/// On the disk threads.</summary>
internal sealed class DiskReader(
    CommitLog log,
    OpenSegments segments,
    EntryFinder finder,
    DiskThreads threads,
    EntryReader reader,
    Action<string> rebuildIndex,
    LostSegments lost,
    ILogger logger)
{
    /// <summary>A file that is missing that often is not one that the cleaner has just taken.</summary>
    private const int MaxLooks = 5;

    /// <summary>What an entry that is passed over counts for in the budget: about its share of the index.</summary>
    private const int PassedBytes = 16;

    private long _reads;

    /// <summary>Reads that went to the disk.</summary>
    public long Reads => Volatile.Read(ref _reads);

    /// <summary>What <see cref="QueueStore"/> promises of its reads from disk.</summary>
    public Task<ReadResult> ReadAsync(
        QueueId id,
        QueueOffset from,
        int maxBytes,
        uint tagMask,
        IBufferWriter<byte> destination,
        CancellationToken cancellationToken)
    {
        if (!TailReader.TryBegin(log, id, from, out Queue queue, out _, out ReadResult bounds))
            return Task.FromResult(bounds);
        FoundEntries? found = null;
        var work = new Work<ReadResult>(
            () => WithWholeIndexes(() => Read(id, from, maxBytes, tagMask, destination, out found)),
            cancellationToken)
        {
            Position = queue.ColdReadPosition,
            BytesOf = result => result.Size + ((long)(found?.Passed ?? 0) * PassedBytes),
            Afterwards = () => reader.TidyUp(found),
        };
        threads.Add(work);
        return work.Task;
    }

    /// <inheritdoc cref="QueueStore.FindOffsetAsync"/>
    public Task<QueueOffset> FindOffsetAsync(QueueId id, long storedTimeMs, CancellationToken cancellationToken)
    {
        Queue queue = log.State.Queues.FindVisible(id) ?? throw new EQueueException(ErrorCode.UnknownQueue);
        var work = new Work<QueueOffset>(
            () => new QueueOffset(WithWholeIndexes(() => finder.FindTime(queue, storedTimeMs, log.Visible))),
            cancellationToken)
        { Position = 0 };
        threads.Add(work);
        return work.Task;
    }

    /// <inheritdoc cref="QueueStore.FindOffsetAtAsync"/>
    public ValueTask<QueueOffset> FindOffsetAtAsync(QueueId id, long position, CancellationToken cancellationToken)
    {
        Queue queue = log.State.Queues.FindVisible(id) ?? throw new EQueueException(ErrorCode.UnknownQueue);
        if (finder.FindInMemory(queue, position, out bool isSure) is var found && isSure)
            return ValueTask.FromResult(new QueueOffset(Math.Max(found, queue.VisibleStart)));
        var work = new Work<QueueOffset>(
            () => new QueueOffset(
                Math.Max(WithWholeIndexes(() => finder.FindPosition(queue, position)), queue.VisibleStart)),
            cancellationToken)
        { Position = 0 };
        threads.Add(work);
        return new ValueTask<QueueOffset>(work.Task);
    }

    /// <inheritdoc cref="QueueStore.FindStoredTimeAsync"/>
    public ValueTask<long?> FindStoredTimeAsync(QueueId id, QueueOffset offset, CancellationToken cancellationToken)
    {
        Queue queue = log.State.Queues.FindVisible(id) ?? throw new EQueueException(ErrorCode.UnknownQueue);
        long visible = log.Visible;
        long from = Math.Max(offset.Value, queue.VisibleStart);
        // What is not far behind is in memory: that takes no thread.
        if (TailReader.TryFindRun(queue, from, out IndexRun? run, out _)
            && run!.CountBefore(visible, run.Count) is var count
            && run.IndexOf(from, count) is var index
            && index < count)
        {
            return ValueTask.FromResult<long?>(
                log.State.TimeResets.Correct(run.PositionOf(index), run.TimeOf(index)));
        }
        var work = new Work<long?>(
            () => WithWholeIndexes(() => finder.FindStoredTime(queue, offset.Value, visible)), cancellationToken)
        {
            Position = 0,
        };
        threads.Add(work);
        return new ValueTask<long?>(work.Task);
    }

    /// <summary>Runs a piece of work among the reads of a queue.</summary>
    /// <param name="queue">Where it reads.</param>
    /// <param name="work">Gives the bytes that it read, which count against the budget.</param>
    /// <param name="cancellationToken">Looked at before it begins.</param>
    public Task<long> RunAsync(Queue queue, Func<long> work, CancellationToken cancellationToken)
    {
        var piece = new Work<long>(work, cancellationToken)
        {
            Position = queue.ColdReadPosition,
            BytesOf = static bytes => bytes,
            Afterwards = () => reader.TidyUp(null),
        };
        threads.Add(piece);
        return piece.Task;
    }

    /// <summary>Finds and reads; files that are missing or damaged show before the first byte is given.</summary>
    /// <param name="id">The queue.</param>
    /// <param name="from">The first offset wanted.</param>
    /// <param name="maxBytes">Of all entries; the first one may be larger.</param>
    /// <param name="tagMask">Entries that it leaves out are passed over.</param>
    /// <param name="destination">Takes the entries.</param>
    /// <param name="found">What was looked at; null when nothing was.</param>
    public ReadResult Read(
        QueueId id,
        QueueOffset from,
        int maxBytes,
        uint tagMask,
        IBufferWriter<byte> destination,
        out FoundEntries? found)
    {
        found = null;
        if (!TailReader.TryBegin(log, id, from, out Queue queue, out long visible, out ReadResult bounds))
            return bounds;
        Interlocked.Increment(ref _reads);
        found = finder.Find(queue, from.Value, visible, maxBytes, tagMask);
        if (found.EndOffset > from.Value)
            queue.ColdReadPosition = found.EndPosition;
        if (found.Entries.Count == 0 && found.EndOffset > from.Value)
            return bounds with { NextOffset = new QueueOffset(found.EndOffset) };
        if (found.Entries.Count == 0)
        {
            long next = Math.Min(Math.Max(found.NextOffset, from.Value), bounds.VisibleEnd.Value);
            return bounds with { Error = ErrorCode.DamagedData, NextOffset = new QueueOffset(next) };
        }
        OpenSegment open = segments.Acquire(found.Segment!);
        try
        {
            return CopyEntries(open, id, found, destination, bounds);
        }
        finally
        {
            segments.Release(open);
        }
    }

    /// <summary>Looks something up; an index file that turns out damaged or gone is built again from its segment,
    /// once. When a segment has just been removed or packed, what stands in its place is looked at.</summary>
    public T WithWholeIndexes<T>(Func<T> lookUp)
    {
        bool isRebuilt = false;
        for (int look = 1; ; look++)
        {
            try
            {
                return lookUp();
            }
            catch (DiskException exception) when (exception.Fault == DiskFault.NotFound && look < MaxLooks)
            {
                // The next look finds what there is now.
            }
            catch (StoreFormatException exception) when (!isRebuilt)
            {
                isRebuilt = true;
                Rebuild(exception.Path);
            }
            catch (Exception exception) when (lost.TryNote(exception))
            {
                // The segment is passed over from now on; another one may have been lost with it.
                isRebuilt = false;
            }
        }
    }

    private void Rebuild(string path)
    {
        try
        {
            rebuildIndex(path);
        }
        catch (Exception exception) when (lost.TryNote(exception))
        {
            // There is nothing to make it from: the next look does without the segment.
        }
    }

    /// <inheritdoc cref="WithWholeIndexes{T}"/>
    public void WithWholeIndexes(Action lookUp) => WithWholeIndexes(() =>
    {
        lookUp();
        return true;
    });

    private ReadResult CopyEntries(
        OpenSegment open, QueueId id, FoundEntries found, IBufferWriter<byte> destination, ReadResult bounds)
    {
        ReadOnlySpan<SealedEntry> entries = CollectionsMarshal.AsSpan(found.Entries);
        int served = 0;
        while (entries.Length > 0)
        {
            served += reader.Read(open, id, ref entries, destination, out bool isDamaged);
            if (isDamaged)
                return AnswerDamaged(open, entries[0], served, bounds);
        }
        return bounds with { NextOffset = new QueueOffset(found.EndOffset), Size = served };
    }

    /// <summary>What was good before a bad entry is given; the next read begins at the bad one and says so.</summary>
    private ReadResult AnswerDamaged(OpenSegment open, in SealedEntry entry, int served, ReadResult bounds)
    {
        if (served > 0)
            return bounds with { NextOffset = new QueueOffset(entry.FirstOffset), Size = served };
        Log.DamagedEntry(logger, open.Segment.Path, entry.Position, entry.Size);
        return bounds with { Error = ErrorCode.DamagedData, NextOffset = new QueueOffset(entry.EndOffset) };
    }

    private sealed class Work<T>(Func<T> read, CancellationToken cancellationToken) : DiskWork
    {
        private readonly TaskCompletionSource<T> _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task<T> Task => _done.Task;

        /// <summary>To be done when the reader has its result.</summary>
        public Action? Afterwards { get; init; }

        /// <summary>What of a result counts against the budget.</summary>
        public Func<T, long>? BytesOf { get; init; }

        public override void Run()
        {
            if (cancellationToken.IsCancellationRequested)
            {
                _done.TrySetCanceled(cancellationToken);
                return;
            }
            try
            {
                T result = read();
                Bytes = BytesOf?.Invoke(result) ?? 0;
                _done.TrySetResult(result);
            }
            catch (Exception exception)
            {
                _done.TrySetException(exception);
            }
        }

        public override void TidyUp() => Afterwards?.Invoke();

        public override void Refuse(Exception reason) => _done.TrySetException(reason);
    }
}
