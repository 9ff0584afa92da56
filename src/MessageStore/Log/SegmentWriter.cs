using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Writes the ring's bytes into the segment files, and gives files made ahead their header and name.</summary>
/// <remarks>Called by the writer alone, who holds the write lock; figures are read by any thread. A full disk or a
/// shortage makes it wait and write the same bytes again: they stay in the ring meanwhile.</remarks>
/// <param name="identity">Stands in the headers.</param>
/// <param name="arena">Has the bytes.</param>
/// <param name="segments">The files.</param>
/// <param name="disk">Where they are.</param>
/// <param name="readOnly">Is switched when a write finds the disk full.</param>
/// <param name="shortage">Is told of shortages.</param>
/// <param name="fault">Ends retries.</param>
/// <param name="stalls">Watches the calls.</param>
/// <param name="logger">Is told of new segments.</param>
internal sealed class SegmentWriter(
    LogIdentity identity,
    Arena arena,
    SegmentChain segments,
    IDisk disk,
    ReadOnlyMode readOnly,
    ShortageWatch shortage,
    LogFault fault,
    StallWatch stalls,
    ILogger logger)
{
    private static readonly TimeSpan FullRetryInterval = TimeSpan.FromSeconds(1);

    private long _bytesWritten;
    private long _writes;

    /// <summary>How long its calls take.</summary>
    public CallDurations Durations { get; } = new(logger);

    /// <summary>Bytes written since the opening.</summary>
    public long BytesWritten => Volatile.Read(ref _bytesWritten);

    /// <summary>Calls since the opening.</summary>
    public long Writes => Volatile.Read(ref _writes);

    private Segment Writing => segments.Writing!;

    /// <summary>Writes what lies together in the ring and in one segment.</summary>
    /// <returns>How many bytes.</returns>
    public int WritePiece(long position, long end)
    {
        if (Writing.IsSealed && position == Writing.EndPosition)
            segments.Writing = Writing.Next!;
        Segment segment = Writing;
        if (segment.PreparedPath is not null)
        {
            BeginWhenTaken(segment);
            Log.SegmentBegun(logger, segment.Path, segment.BasePosition);
        }
        long limit = segment.IsSealed ? Math.Min(end, segment.EndPosition) : end;
        ReadOnlySpan<byte> piece = arena.From(position, limit - position);
        try
        {
            Write(segment, piece, position);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            readOnly.Enter(ReadOnlyReason.Write, exception);
            WriteWhenTaken(segment, position, piece.Length);
        }
        catch (Exception exception) when (ShortageWatch.IsShortage(exception))
        {
            WriteWhenTaken(segment, position, piece.Length);
        }
        return piece.Length;
    }

    /// <summary>Writes a range if that is one write into the segment under way, for which there is room.</summary>
    public bool TryWriteOnePiece(long position, long end)
    {
        Segment segment = Writing;
        if (segment.IsSealed || segment.PreparedPath is not null)
            return false;
        ReadOnlySpan<byte> piece = arena.From(position, end - position);
        if (piece.Length < end - position)
            return false;
        try
        {
            Write(segment, piece, position);
            return true;
        }
        catch (Exception exception)
            when (exception is DiskException { Fault: DiskFault.Full } || ShortageWatch.IsShortage(exception))
        {
            // The writer meets it again, and waits.
            return false;
        }
    }

    private void Write(Segment segment, ReadOnlySpan<byte> piece, long position)
    {
        long begun = Durations.Begin();
        stalls.BeginWrite();
        try
        {
            segment.File!.Write(piece, segment.FileOffsetOf(position));
        }
        finally
        {
            stalls.EndWrite();
        }
        Durations.End(begun);
        _writes++;
        _bytesWritten += piece.Length;
    }

    /// <summary>The disk is full although room was reserved, or the system has no memory for the call: keeps the
    /// bytes, writes the same range until it works.</summary>
    private void WriteWhenTaken(Segment segment, long position, int length) =>
        RetryWhileRefused(() => segment.File!.Write(arena.From(position, length), segment.FileOffsetOf(position)));

    private void BeginWhenTaken(Segment segment) => RetryWhileRefused(() => BeginSegment(segment));

    private void RetryWhileRefused(Action write)
    {
        while (true)
        {
            try
            {
                write();
                readOnly.Leave(ReadOnlyReason.Write);
                shortage.NoteEnd();
                return;
            }
            catch (Exception exception) when (ShortageWatch.IsShortage(exception) && !fault.IsStopping)
            {
                shortage.Note(exception);
                fault.WaitToRetry(FullRetryInterval);
            }
            catch (DiskException exception) when (exception.Fault == DiskFault.Full && !fault.IsStopping)
            {
                readOnly.Enter(ReadOnlyReason.Write, exception);
                fault.WaitToRetry(FullRetryInterval);
            }
        }
    }

    /// <summary>Gives a file made ahead its header and its name. It counts once the flusher has synced it and its
    /// folder.</summary>
    /// <remarks>Called again after a failure anywhere in it.</remarks>
    private void BeginSegment(Segment segment)
    {
        if (segment.PreparedPath is null)
            return;
        WriteHeader(segment);
        segment.NeedsDirectorySync = true;
        disk.Rename(segment.PreparedPath, segment.Path);
        segment.PreparedPath = null;
    }

    private void WriteHeader(Segment segment)
    {
        var header = new SegmentHeader
        {
            StoreId = identity.StoreId,
            LogId = identity.LogId,
            BasePosition = new LogPosition(segment.BasePosition),
            Epoch = identity.Epoch,
            CreatedMs = segment.CreatedTimeMs,
            Capacity = segment.Capacity,
        };
        Span<byte> bytes = stackalloc byte[SegmentHeader.Length];
        header.Write(bytes);
        segment.File!.Write(bytes, 0);
    }
}
