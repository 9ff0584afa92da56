namespace EQueue.MessageStore.Tests;

/// <summary>The real disk with a look at every call: a test may throw there, or hold the caller until it has seen
/// enough.</summary>
internal sealed class GatedDisk : ForwardingDisk
{
    public GatedDisk()
        : base(PortableDisk.ForThisSystem())
    {
    }

    /// <summary>Called before each opening of a file with its path.</summary>
    public Action<string>? OnOpen { get; set; }

    /// <summary>Called before each write to a file with its path and bytes.</summary>
    public Action<string, int>? OnWrite { get; set; }

    /// <summary>Called before each fdatasync with the path.</summary>
    public Action<string>? OnSync { get; set; }

    /// <summary>Called before each read with the path, the file offset and the bytes asked for.</summary>
    public Action<string, long, int>? OnRead { get; set; }

    /// <summary>Called before each reservation with the path.</summary>
    public Action<string>? OnPreallocate { get; set; }

    /// <summary>Called before each sync of a folder with its path.</summary>
    public Action<string>? OnSyncDirectory { get; set; }

    /// <summary>Called before each deletion with the path.</summary>
    public Action<string>? OnDelete { get; set; }

    /// <summary>Called before each hint with its file offset and length.</summary>
    public Action<long, long, DiskAdvice>? OnAdvise { get; set; }

    /// <summary>Answers instead of the volume.</summary>
    public long? Free { get; set; }

    public override IDiskFile Open(string path, DiskOpen mode)
    {
        OnOpen?.Invoke(path);
        return new GatedFile(this, base.Open(path, mode), path);
    }

    public override void Delete(string path)
    {
        OnDelete?.Invoke(path);
        base.Delete(path);
    }

    public override void SyncDirectory(string directory)
    {
        OnSyncDirectory?.Invoke(directory);
        base.SyncDirectory(directory);
    }

    public override long FreeBytes(string directory) => Free ?? base.FreeBytes(directory);

    private sealed class GatedFile(GatedDisk disk, IDiskFile file, string path) : IDiskFile
    {
        public long Length => file.Length;

        public void Write(ReadOnlySpan<byte> bytes, long fileOffset)
        {
            disk.OnWrite?.Invoke(path, bytes.Length);
            file.Write(bytes, fileOffset);
        }

        public int Read(Span<byte> buffer, long fileOffset)
        {
            disk.OnRead?.Invoke(path, fileOffset, buffer.Length);
            return file.Read(buffer, fileOffset);
        }

        public void Sync()
        {
            disk.OnSync?.Invoke(path);
            file.Sync();
        }

        public void Preallocate(long fileOffset, long length)
        {
            disk.OnPreallocate?.Invoke(path);
            file.Preallocate(fileOffset, length);
        }

        public void Truncate(long length) => file.Truncate(length);

        public void Advise(long fileOffset, long length, DiskAdvice advice)
        {
            disk.OnAdvise?.Invoke(fileOffset, length, advice);
            file.Advise(fileOffset, length, advice);
        }

        public void Dispose() => file.Dispose();
    }
}
