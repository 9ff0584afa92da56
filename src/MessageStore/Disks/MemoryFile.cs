namespace EQueue.MessageStore;

/// <summary>The bytes of one file of a <see cref="MemoryDisk"/>.</summary>
/// <remarks>
/// Reads, and writes to blocks that are there, take no lock: the table of blocks only ever grows, and a block, once in
/// it, stays until the file is cut or gone. The lock is held to add and remove blocks and to move the end. A place
/// without a block reads as zeros, and zeros written there take none.
/// </remarks>
internal sealed class MemoryFile(MemoryDisk disk)
{
    private const int BlockBytes = MemoryDisk.BlockBytes;

    private readonly Lock _lock = new();
    private byte[]?[] _blocks = [];
    private long _length;

    /// <summary>Blocks before this one are counted, whether they are there or not.</summary>
    private int _reserved;
    private int _handles;
    private int _writers;
    private bool _isUnlinked;

    public long Length => Volatile.Read(ref _length);

    /// <summary>Its name is gone: with its last handle its blocks are given back.</summary>
    public void Unlink()
    {
        lock (_lock)
        {
            _isUnlinked = true;
            FreeWhenUnused();
        }
    }

    private static int BlocksFor(long bytes) => checked((int)((bytes + BlockBytes - 1) / BlockBytes));

    private void Attach(bool canWrite)
    {
        lock (_lock)
        {
            _handles++;
            _writers += canWrite ? 1 : 0;
        }
    }

    private void Detach(bool canWrite)
    {
        lock (_lock)
        {
            _handles--;
            _writers -= canWrite ? 1 : 0;
            if (_writers == 0)
            {
                disk.GiveBack(MissingBetween(0, _reserved));
                _reserved = 0;
            }
            FreeWhenUnused();
        }
    }

    private int Read(Span<byte> buffer, long offset)
    {
        int size = (int)Math.Clamp(Length - offset, 0, buffer.Length);
        byte[]?[] blocks = Volatile.Read(ref _blocks);
        for (int done = 0; done < size;)
        {
            (long index, long start) = Math.DivRem(offset + done, BlockBytes);
            Span<byte> target = buffer[done..size];
            target = target[..(int)Math.Min(target.Length, BlockBytes - start)];
            if (index < blocks.Length && Volatile.Read(ref blocks[index]) is { } block)
            {
                block.AsSpan((int)start, target.Length).CopyTo(target);
            }
            else
            {
                target.Clear();
            }
            done += target.Length;
        }
        return size;
    }

    private void Write(ReadOnlySpan<byte> bytes, long offset, string path)
    {
        long end = offset + bytes.Length;
        while (!bytes.IsEmpty)
        {
            (long index, long start) = Math.DivRem(offset, BlockBytes);
            ReadOnlySpan<byte> piece = bytes[..(int)Math.Min(bytes.Length, BlockBytes - start)];
            byte[]?[] blocks = Volatile.Read(ref _blocks);
            byte[]? block = index < blocks.Length ? Volatile.Read(ref blocks[index]) : null;
            if (block is null && piece.ContainsAnyExcept((byte)0))
                block = AddBlock(checked((int)index), path);
            if (block is not null)
                piece.CopyTo(block.AsSpan((int)start));
            bytes = bytes[piece.Length..];
            offset += piece.Length;
        }
        Extend(end);
    }

    private void Preallocate(long end, string path)
    {
        lock (_lock)
        {
            int count = BlocksFor(end);
            long missing = MissingBetween(_reserved, count);
            if (!disk.TryTake(missing))
                throw Full(path, "preallocate", missing);
            _reserved = Math.Max(_reserved, count);
        }
        Extend(end);
    }

    private void Truncate(long length)
    {
        lock (_lock)
        {
            int kept = BlocksFor(length);
            disk.GiveBack(CountedFrom(kept));
            _reserved = Math.Min(_reserved, kept);
            for (int i = kept; i < _blocks.Length; i++)
                Volatile.Write(ref _blocks[i], null);
            if (kept > 0 && kept <= _blocks.Length && length < Length)
            {
                // Behind the end all is zero, also when the file grows again.
                _blocks[kept - 1]?.AsSpan((int)(length - ((kept - 1L) * BlockBytes))).Clear();
            }
            Volatile.Write(ref _length, length);
        }
    }

    private byte[] AddBlock(int index, string path)
    {
        lock (_lock)
        {
            if (index >= _blocks.Length)
            {
                byte[]?[] grown = new byte[]?[Math.Max(index + 1, Math.Min(_blocks.Length * 2, 1 << 20))];
                _blocks.CopyTo(grown, 0);
                Volatile.Write(ref _blocks, grown);
            }
            if (_blocks[index] is { } found)
                return found;
            if (index >= _reserved && !disk.TryTake(1))
                throw Full(path, "write", 1);
            // Pinned: the collector need not move what lives as long as a segment.
            byte[] block = GC.AllocateArray<byte>(BlockBytes, pinned: true);
            Volatile.Write(ref _blocks[index], block);
            return block;
        }
    }

    private void Extend(long end)
    {
        if (end <= Length)
            return;
        lock (_lock)
            Volatile.Write(ref _length, Math.Max(_length, end));
    }

    private void FreeWhenUnused()
    {
        if (_isUnlinked && _handles == 0)
        {
            disk.GiveBack(CountedFrom(0));
            _reserved = 0;
            Volatile.Write(ref _blocks, []);
        }
    }

    /// <summary>Blocks from one on that are counted: those that are there and those that are reserved.</summary>
    private long CountedFrom(int first)
    {
        long count = MissingBetween(first, _reserved);
        for (int i = first; i < _blocks.Length; i++)
            count += _blocks[i] is null ? 0 : 1;
        return count;
    }

    private long MissingBetween(int first, int end)
    {
        long count = 0;
        for (int i = first; i < end; i++)
            count += i < _blocks.Length && _blocks[i] is not null ? 0 : 1;
        return count;
    }

    private DiskException Full(string path, string operation, long blocks) => new(
        DiskFault.Full, path, operation,
        $"{blocks * BlockBytes} bytes wanted, {disk.FreeBytes(path)} of {disk.LimitBytes} left in memory");

    /// <summary>A file as one user has it open.</summary>
    internal sealed class Handle : IDiskFile
    {
        private readonly MemoryFile _file;
        private readonly string _path;
        private readonly bool _canWrite;
        private int _isClosed;

        public Handle(MemoryFile file, string path, bool canWrite)
        {
            _file = file;
            _path = path;
            _canWrite = canWrite;
            file.Attach(canWrite);
        }

        public long Length => Open().Length;

        public void Write(ReadOnlySpan<byte> bytes, long fileOffset) =>
            Writable("write").Write(bytes, fileOffset, _path);

        public int Read(Span<byte> buffer, long fileOffset) => Open().Read(buffer, fileOffset);

        public void Sync()
        {
            // What is written is where it will ever be.
            Open();
        }

        public void Preallocate(long fileOffset, long length) =>
            Writable("preallocate").Preallocate(fileOffset + length, _path);

        public void Truncate(long length) => Writable("truncate").Truncate(length);

        public void Advise(long fileOffset, long length, DiskAdvice advice)
        {
            // There is nothing between these bytes and their reader.
        }

        public void Dispose()
        {
            if (Interlocked.Exchange(ref _isClosed, 1) == 0)
                _file.Detach(_canWrite);
        }

        private MemoryFile Open() =>
            Volatile.Read(ref _isClosed) == 0 ? _file : throw new ObjectDisposedException(_path);

        private MemoryFile Writable(string operation) => _canWrite
            ? Open()
            : throw new DiskException(DiskFault.Denied, _path, operation, "the file is open for reading");
    }
}
