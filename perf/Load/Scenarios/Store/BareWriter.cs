using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.MessageStore;
using Microsoft.Win32.SafeHandles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// The yardstick of the store: the same bytes in positioned writes of 1 MiB to a new file, reserved and made durable as
/// the store does it, its older pages let go in the same way, and nothing else.
/// </summary>
internal sealed class BareWriter : IDisposable
{
    private const int PieceBytes = 1 << 20;

    /// <summary>As large as the store's own memory, so that as much of it is in the processor's caches.</summary>
    private const int SourceBytes = 32 << 20;

    /// <summary>With sync flush the store writes zeros ahead of need: of a new log at most so much at once.</summary>
    private const int ZeroedBytes = 64 << 20;

    private const int TrimBytes = 8 << 20;

    private static readonly StoreOptions Standard = new() { DataDirectory = "." };

    private readonly byte[] _source = GC.AllocateUninitializedArray<byte>(SourceBytes + PieceBytes);
    private readonly LatencyHistogram _sync = new();
    private readonly SafeFileHandle _file;
    private readonly BareOrder _order;
    private long _allocated;
    private long _written;
    private long _trimmed;
    private long _syncs;

    /// <param name="order">What to write.</param>
    /// <param name="batches">The bytes to write, over and over.</param>
    public BareWriter(BareOrder order, BatchRing batches)
    {
        _order = order;
        int filled = 0;
        for (long number = 0L; filled < _source.Length; number++)
        {
            ReadOnlySpan<byte> part = batches.Batch(number).Span;
            part = part[..Math.Min(part.Length, _source.Length - filled)];
            part.CopyTo(_source.AsSpan(filled));
            filled += part.Length;
        }

        _file = File.OpenHandle(order.File, FileMode.CreateNew, FileAccess.ReadWrite);
        Allocate();
        if (order.BytesPerSync is not null)
        {
            byte[] zeros = new byte[PieceBytes];
            for (long at = 0L; at < ZeroedBytes; at += zeros.Length)
                RandomAccess.Write(_file, zeros, at);
        }

        LinuxCalls.FlushToDisk(_file);
    }

    public BareResult Run()
    {
        long startNs = Clock.NowNs;
        if (_order.BytesPerSync is { } group)
            WriteGroups(group);
        else
            WriteStream();
        return new BareResult((Clock.NowNs - startNs) / 1e9, _syncs, _sync.ToCounts());
    }

    /// <summary>Ends what the run began, so that it does not burden the next one.</summary>
    public void Dispose()
    {
        LinuxCalls.FlushToDisk(_file);
        _file.Dispose();
    }

    private void WriteGroups(long groupBytes)
    {
        while (_written < _order.Bytes)
        {
            long startNs = Clock.NowNs;
            WriteTo(Math.Min(_order.Bytes, _written + groupBytes));
            Sync(_written);
            _sync.Record(Clock.NowNs - startNs);
        }
    }

    private void WriteStream()
    {
        using var done = new ManualResetEvent(false);
        var flusher = new Thread(() =>
        {
            while (!done.WaitOne(Standard.FlushInterval))
                Sync(Volatile.Read(ref _written));
        });
        flusher.Start();
        WriteTo(_order.Bytes);
        done.Set();
        flusher.Join();
    }

    private void WriteTo(long end)
    {
        while (_written < end)
        {
            int length = (int)Math.Min(PieceBytes, end - _written);
            if (_written + length > _allocated)
                Allocate();
            RandomAccess.Write(_file, _source.AsSpan((int)(_written % SourceBytes), length), _written);
            Volatile.Write(ref _written, _written + length);
        }
    }

    private void Allocate()
    {
        LinuxCalls.Preallocate(_file, _allocated, Standard.SegmentSizeBytes);
        _allocated += Standard.SegmentSizeBytes;
    }

    private void Sync(long written)
    {
        LinuxCalls.FlushToDisk(_file);
        _syncs++;
        long end = (written - Standard.PageCacheBytes) & -4096;
        if (end - _trimmed < TrimBytes)
            return;
        LinuxCalls.DropFromCache(_file, _trimmed, end - _trimmed);
        _trimmed = end;
    }
}
