using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>A file that is being copied from another replica: it gets its name when it is whole, and is gone
/// otherwise.</summary>
/// <remarks>One thread at a time.</remarks>
public sealed class ReplicaCopy : IDisposable
{
    private readonly ReplicaCopies _copies;
    private readonly IDisk _disk;
    private readonly IDiskFile _file;
    private readonly string _temporary;
    private bool _isCompleted;

    internal ReplicaCopy(ReplicaCopies copies, IDisk disk, string path)
    {
        (_copies, _disk, Path) = (copies, disk, path);
        _temporary = path + LogFiles.TemporarySuffix;
        _disk.Delete(_temporary);
        _file = disk.Open(_temporary, DiskOpen.CreateNew);
    }

    /// <summary>Bytes so far.</summary>
    public long Length { get; private set; }

    internal string Path { get; }

    internal string Temporary => _temporary;

    /// <summary>Adds bytes at the end.</summary>
    /// <exception cref="DiskException">The disk failed or is full.</exception>
    public void Write(ReadOnlySpan<byte> bytes)
    {
        _file.Write(bytes, Length);
        Length += bytes.Length;
    }

    /// <summary>Where what a checked file covers ends; null before <see cref="Check"/>.</summary>
    internal LogPosition? End { get; private set; }

    /// <summary>Makes the file durable and reads it whole: what takes long, and needs no other call to
    /// wait.</summary>
    /// <exception cref="ReplicaException">It is not whole, or not of this log: it goes.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public void Check()
    {
        _file.Sync();
        End = _copies.CheckCopy(this);
    }

    /// <summary>Checks the file if that was not done, and gives it its name.</summary>
    /// <param name="committed">What is known to be committed: nothing derived from more is taken.</param>
    /// <exception cref="ReplicaException">It is not whole, or not of this log, or of what is not committed and durable
    /// here yet: it goes.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public void Complete(LogPosition committed)
    {
        if (End is null)
            Check();
        _copies.Take(this, committed);
        _isCompleted = true;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _file.Dispose();
        if (!_isCompleted)
            _disk.Delete(_temporary);
    }
}
