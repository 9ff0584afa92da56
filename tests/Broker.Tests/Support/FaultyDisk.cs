using EQueue.MessageStore;

namespace EQueue.Broker.Tests;

/// <summary>The real disk, whose writes to the log can be held up or broken, and whose room can run out.</summary>
internal sealed class FaultyDisk : ForwardingDisk
{
    private readonly object _gate = new();
    private bool _isHeld;
    private volatile bool _isBroken;

    public FaultyDisk()
        : base(PortableDisk.ForThisSystem())
    {
    }

    /// <summary>Writes of the log wait from here on.</summary>
    public void HoldWrites() => SetHeld(true);

    public void ReleaseWrites() => SetHeld(false);

    /// <summary>Every further write of the log fails.</summary>
    public void Break() => _isBroken = true;

    public override IDiskFile Open(string path, DiskOpen mode) =>
        path.Replace((char)92, (char)47).Contains("/logs/", StringComparison.Ordinal) ? new LogFile(
            this, path, base.Open(path, mode)) : base.Open(path, mode);

    public override long FreeBytes(string directory) => FreeBytesLeft ?? base.FreeBytes(directory);

    public long? FreeBytesLeft { get; set; }

    private void SetHeld(bool isHeld)
    {
        lock (_gate)
        {
            _isHeld = isHeld;
            Monitor.PulseAll(_gate);
        }
    }

    private void WaitWhileHeld()
    {
        lock (_gate)
        {
            while (_isHeld)
                Monitor.Wait(_gate);
        }
    }

    private sealed class LogFile(FaultyDisk owner, string path, IDiskFile file) : IDiskFile
    {
        public long Length => file.Length;

        public void Write(ReadOnlySpan<byte> bytes, long fileOffset)
        {
            owner.WaitWhileHeld();
            if (owner._isBroken)
                throw new DiskException(DiskFault.Io, path, "Write", "the disk is broken");
            file.Write(bytes, fileOffset);
        }

        public int Read(Span<byte> buffer, long fileOffset) => file.Read(buffer, fileOffset);

        public void Sync() => file.Sync();

        public void Preallocate(long fileOffset, long length) => file.Preallocate(fileOffset, length);

        public void Truncate(long length) => file.Truncate(length);

        public void Advise(long fileOffset, long length, DiskAdvice advice) => file.Advise(fileOffset, length, advice);

        public void Dispose() => file.Dispose();
    }
}
