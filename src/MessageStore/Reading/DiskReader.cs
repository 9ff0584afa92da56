using System.Buffers;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Serves what is no longer in memory: finds it by the index, reads it in few large reads, checks every CRC.
/// On the disk threads.</summary>
internal sealed class DiskReader(
    CommitLog log,
    OpenSegments segments,
    EntryFinder finder,
    DiskThreads threads,
    ColdPages pages,
    Action<string> rebuildIndex,
    ILogger logger)
{
    /// <summary>Entries of other queues between two of this one are read over up to so many bytes: cheaper than
    /// another read.</summary>
    private const int LargestSkip = 32 << 10;

    /// <summary>The most bytes of one read, a larger single entry excepted.</summary>
    private const int LargestRead = 1 << 20;

    /// <summary>A file that is missing that often is not one that the cleaner has just taken.</summary>
    private const int MaxLooks = 5;

    /// <summary>What an entry that is passed over counts for in the budget: about its share of the index.</summary>
    private const int PassedBytes = 16;

    private readonly uint _logSeed = EntryHeader.SeedOf(log.LogId);
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
        {
            return Task.FromResult(bounds);
        }
        int passed = 0;
        var work = new Work<ReadResult>(
            () => WithWholeIndexes(() => Read(id, from, maxBytes, tagMask, destination, out passed)),
            cancellationToken)
        {
            Position = queue.ColdReadPosition,
            BytesOf = result => result.Size + ((long)passed * PassedBytes),
        };
        threads.Add(work);
        return work.Task;
    }

    /// <inheritdoc cref="QueueStore.FindOffsetAsync"/>
    public Task<QueueOffset> FindOffsetAsync(QueueId id, long storedTimeMs, CancellationToken cancellationToken)
    {
        Queue queue = log.State.Queues.Find(id) ?? throw new EQueueException(ErrorCode.UnknownQueue);
        var work = new Work<QueueOffset>(
            () => new QueueOffset(WithWholeIndexes(() => finder.FindTime(queue, storedTimeMs, log.Visible))),
            cancellationToken)
        { Position = 0 };
        threads.Add(work);
        return work.Task;
    }

    /// <inheritdoc cref="QueueStore.FindStoredTimeAsync"/>
    public ValueTask<long?> FindStoredTimeAsync(QueueId id, QueueOffset offset, CancellationToken cancellationToken)
    {
        Queue queue = log.State.Queues.Find(id) ?? throw new EQueueException(ErrorCode.UnknownQueue);
        long visible = log.Visible;
        long from = Math.Max(offset.Value, queue.Start);
        // What is not far behind is in memory: that takes no thread.
        if (TailReader.TryFindRun(queue, from, out IndexRun? run, out _)
            && run!.CountBefore(visible, run.Count) is var count
            && run.IndexOf(from, count) is var index
            && index < count)
        {
            return ValueTask.FromResult<long?>(run.TimeOf(index));
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
        };
        threads.Add(piece);
        return piece.Task;
    }

    /// <summary>Finds and reads; files that are missing or damaged show before the first byte is given.</summary>
    public ReadResult Read(
        QueueId id,
        QueueOffset from,
        int maxBytes,
        uint tagMask,
        IBufferWriter<byte> destination,
        out int passed)
    {
        passed = 0;
        if (!TailReader.TryBegin(log, id, from, out Queue queue, out long visible, out ReadResult bounds))
        {
            return bounds;
        }
        Interlocked.Increment(ref _reads);
        FoundEntries found = finder.Find(queue, from.Value, visible, maxBytes, tagMask);
        passed = found.Passed;
        if (found.EndOffset > from.Value)
        {
            queue.ColdReadPosition = found.EndPosition;
        }
        if (found.Entries.Count == 0 && found.EndOffset > from.Value)
        {
            return bounds with { NextOffset = new QueueOffset(found.EndOffset) };
        }
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
                rebuildIndex(exception.Path);
            }
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
        List<SealedEntry> entries = found.Entries;
        int served = 0;
        for (int first = 0; first < entries.Count;)
        {
            int last = first + 1;
            long start = entries[first].FileOffset;
            while (last < entries.Count
                && entries[last].FileOffset - End(entries[last - 1]) <= LargestSkip
                && End(entries[last]) - start <= LargestRead)
            {
                last++;
            }
            int size = (int)(End(entries[last - 1]) - start);
            byte[] buffer = ArrayPool<byte>.Shared.Rent(size);
            try
            {
                int read = ReadNeighbours(open.File, buffer.AsSpan(0, size), entries, first);
                pages.Note(open.Segment, entries[last - 1].Position, start, size);
                Span<byte> bytes = buffer.AsSpan(0, read);
                for (; first < last; first++)
                {
                    SealedEntry entry = entries[first];
                    if (!TryGetWhole(bytes, (int)(entry.FileOffset - start), id, entry, out ReadOnlySpan<byte> whole))
                    {
                        return AnswerDamaged(open, entry, served, bounds);
                    }
                    destination.Write(whole);
                    served += whole.Length;
                }
            }
            finally
            {
                ArrayPool<byte>.Shared.Return(buffer);
            }
        }
        return bounds with { NextOffset = new QueueOffset(found.EndOffset), Size = served };
    }

    /// <summary>Reads entries at once, or, where the device cannot, one by one up to the first that it cannot
    /// read.</summary>
    /// <returns>Bytes up to there.</returns>
    private static int ReadNeighbours(IDiskFile file, Span<byte> bytes, List<SealedEntry> entries, int first)
    {
        long start = entries[first].FileOffset;
        int read = file.ReadOrNothing(bytes, start);
        if (read > 0)
        {
            return read;
        }
        for (; read < bytes.Length; first++)
        {
            int at = (int)(entries[first].FileOffset - start);
            int size = entries[first].Size;
            if (file.ReadOrNothing(bytes.Slice(at, size), start + at) < size)
            {
                return at;
            }
            read = at + size;
        }
        return read;
    }

    private static long End(in SealedEntry entry) => entry.FileOffset + entry.Size;

    /// <summary>What was good before a bad entry is given; the next read begins at the bad one and says so.</summary>
    private ReadResult AnswerDamaged(OpenSegment open, in SealedEntry entry, int served, ReadResult bounds)
    {
        if (served > 0)
        {
            return bounds with { NextOffset = new QueueOffset(entry.FirstOffset), Size = served };
        }
        Log.DamagedEntry(logger, open.Segment.Path, entry.Position, entry.Size);
        return bounds with { Error = ErrorCode.DamagedData, NextOffset = new QueueOffset(entry.EndOffset) };
    }

    private bool TryGetWhole(
        ReadOnlySpan<byte> bytes, int at, QueueId id, in SealedEntry entry, out ReadOnlySpan<byte> whole)
    {
        whole = default;
        if (bytes.Length - at < entry.Size)
        {
            return false;
        }
        ReadOnlySpan<byte> candidate = bytes.Slice(at, entry.Size);
        if (!StoredEntry.IsWhole(candidate, id, entry, _logSeed))
        {
            return false;
        }
        whole = candidate;
        return true;
    }

    private sealed class Work<T>(Func<T> read, CancellationToken cancellationToken) : DiskWork
    {
        private readonly TaskCompletionSource<T> _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task<T> Task => _done.Task;

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

        public override void Refuse(Exception reason) => _done.TrySetException(reason);
    }
}
