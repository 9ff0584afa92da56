namespace EQueue.MessageStore.Tests;

public sealed class MemoryDiskTests
{
    private const int Block = MemoryDisk.BlockBytes;
    private const string Folder = "/memory/logs";

    private readonly MemoryDisk _disk = new(100 * Block);

    public MemoryDiskTests() => _disk.CreateDirectory(Folder);

    [Fact]
    public void GivenAFile_WhenWrittenReservedAndCut_ThenItHoldsWhatWasWrittenAndZerosElsewhere()
    {
        using IDiskFile file = Make("a");
        file.Preallocate(0, 100_000);
        Assert.Equal(100_000, file.Length);
        file.Write("hello"u8, Block - 2);
        file.Sync();
        byte[] bytes = new byte[10];
        using (IDiskFile reader = _disk.Open(PathOf("a"), DiskOpen.ReadOnly))
        {
            Assert.Equal(10, reader.Read(bytes, Block - 4));
            Assert.Equal("\0\0hello\0\0\0"u8, bytes);
            Assert.Equal(4, reader.Read(bytes, 99_996));
            Assert.Equal(0, reader.Read(bytes, 100_001));
            Assert.Equal(
                DiskFault.Denied, Assert.Throws<DiskException>(() => reader.Write("x"u8, 0)).Fault);
        }

        file.Truncate(Block);
        Assert.Equal(4, file.Read(bytes, Block - 4));
        file.Truncate(Block + 10);
        Assert.Equal(10, file.Read(bytes, Block));
        Assert.Equal(new byte[10], bytes);
        Assert.Equal(new DiskEntry("a", Block + 10), Assert.Single(_disk.List(Folder)));
    }

    [Fact]
    public void GivenNames_WhenMadeRenamedAndDeleted_ThenTheFaultSaysWhichAreWrong()
    {
        Assert.Equal(DiskFault.NotFound, FaultOf(() => _disk.Open(PathOf("a"), DiskOpen.ReadOnly)));
        Assert.Equal(DiskFault.NotFound, FaultOf(() => _disk.Open("/elsewhere/a", DiskOpen.CreateNew)));
        Assert.Equal(DiskFault.NotFound, FaultOf(() => _disk.Rename(PathOf("a"), PathOf("b"))));
        Make("a").Dispose();
        Make("b").Dispose();
        Assert.Equal(DiskFault.Exists, FaultOf(() => Make("a")));
        _disk.Rename(PathOf("a"), PathOf("b"));
        Assert.False(_disk.Exists(PathOf("a")));
        Assert.True(_disk.Exists(PathOf("b")) && _disk.Exists(Folder) && _disk.Exists("/memory"));
        _disk.Delete(PathOf("b"));
        _disk.Delete(PathOf("b"));
        Assert.Empty(_disk.List(Folder));
        using (_disk.Lock(PathOf("lock")))
            Assert.Equal(DiskFault.Locked, FaultOf(() => _disk.Lock(PathOf("lock"))));
        _disk.Lock(PathOf("lock")).Dispose();
    }

    [Fact]
    public void GivenWritesAndReservations_WhenCounted_ThenEachBlockCountsOnceAndZerosCountNothing()
    {
        using IDiskFile file = Make("a");
        file.Write(new byte[10 * Block], 0);
        Assert.Equal((0L, 10L * Block), (_disk.UsedBytes, file.Length));
        file.Write([1], (3 * Block) + 5);
        Assert.Equal(Block, _disk.UsedBytes);
        file.Preallocate(0, 6 * Block);
        Assert.Equal(6 * Block, _disk.UsedBytes);
        file.Write([1], (4 * Block) + 5);
        Assert.Equal(6 * Block, _disk.UsedBytes);
        Assert.Equal(94 * Block, _disk.FreeBytes(Folder));
        file.Truncate((4 * Block) + 1);
        Assert.Equal(5 * Block, _disk.UsedBytes);
        file.Dispose();
        Assert.Equal(2 * Block, _disk.UsedBytes);
        _disk.Delete(PathOf("a"));
        Assert.Equal(0, _disk.UsedBytes);
    }

    [Fact]
    public void GivenAFullDisk_WhenWrittenOrReserved_ThenItIsFullToTheByteAndWhatWasReservedCanBeWritten()
    {
        using IDiskFile reserved = Make("reserved");
        using IDiskFile file = Make("file");
        reserved.Preallocate(0, 40 * Block);
        Assert.Equal(DiskFault.Full, FaultOf(() => file.Preallocate(0, (60 * Block) + 1)));
        Assert.Equal((40L * Block, 0L), (_disk.UsedBytes, file.Length));
        byte[] ones = new byte[61 * Block];
        Array.Fill(ones, (byte)1);
        Assert.Equal(DiskFault.Full, FaultOf(() => file.Write(ones, 0)));
        Assert.Equal(0, _disk.FreeBytes(Folder));
        reserved.Write(ones.AsSpan(0, 40 * Block), 0);
        Assert.Equal(DiskFault.Full, FaultOf(() => reserved.Write([1], 40 * Block)));

        file.Truncate(59 * Block);
        reserved.Write([1], 40 * Block);
        Assert.Equal(0, _disk.FreeBytes(Folder));
    }

    [Fact]
    public void GivenADeletedFileThatIsOpen_WhenRead_ThenItLivesOnUntilItIsClosed()
    {
        IDiskFile writer = Make("a");
        writer.Write("hello"u8, 0);
        IDiskFile reader = _disk.Open(PathOf("a"), DiskOpen.ReadOnly);
        _disk.Delete(PathOf("a"));
        writer.Dispose();
        byte[] bytes = new byte[5];
        Assert.Equal(5, reader.Read(bytes, 0));
        Assert.Equal("hello"u8, bytes);
        Assert.Equal(Block, _disk.UsedBytes);
        reader.Dispose();
        reader.Dispose();
        Assert.Equal(0, _disk.UsedBytes);
        Assert.Throws<ObjectDisposedException>(() => reader.Length);
    }

    [Fact]
    public void GivenManyWriters_WhenTheyFillTheDiskAtOnce_ThenExactlyTheLimitIsTaken()
    {
        int written = 0;
        Parallel.For(0, 8, which =>
        {
            using IDiskFile file = Make($"f{which}");
            byte[] bytes = [(byte)(which + 1)];
            for (int i = 0; i < 50; i++)
            {
                try
                {
                    file.Write(bytes, (long)i * Block);
                    Interlocked.Increment(ref written);
                }
                catch (DiskException exception) when (exception.Fault == DiskFault.Full)
                {
                    Assert.Equal(0, _disk.FreeBytes(Folder));
                }
            }
        });
        Assert.Equal(100, written);
        Assert.Equal(100 * Block, _disk.UsedBytes);
    }

    [Fact]
    public void GivenOneFile_WhenWrittenAndReadByManyAtOnce_ThenNoWriteIsLost()
    {
        using IDiskFile file = Make("a");
        const int Piece = 1_000;
        Parallel.For(0, 1_000, which =>
        {
            byte[] bytes = new byte[Piece];
            Array.Fill(bytes, (byte)((which % 250) + 1));
            file.Write(bytes, (long)which * Piece);
            byte[] read = new byte[Piece];
            Assert.Equal(Piece, file.Read(read, (long)which * Piece));
            Assert.Equal(bytes, read);
        });
        byte[] all = new byte[1_000 * Piece];
        Assert.Equal(all.Length, file.Read(all, 0));
        for (int which = 0; which < 1_000; which++)
            Assert.False(all.AsSpan(which * Piece, Piece).ContainsAnyExcept((byte)((which % 250) + 1)));
    }

    private static string PathOf(string name) => Path.Combine(Folder, name);

    private static DiskFault FaultOf(Action action) => Assert.Throws<DiskException>(action).Fault;

    private IDiskFile Make(string name) => _disk.Open(PathOf(name), DiskOpen.CreateNew);
}
