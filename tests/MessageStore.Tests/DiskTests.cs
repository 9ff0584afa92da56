namespace EQueue.MessageStore.Tests;

public sealed class DiskTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("equeue-disk-").FullName;

    public static TheoryData<bool> Disks { get; } = OperatingSystem.IsLinux() ? [true, false] : [false];

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [MemberData(nameof(Disks))]
    public void GivenAFile_WhenWrittenReservedAndCut_ThenItHoldsWhatWasWrittenAndZerosElsewhere(bool isLinux)
    {
        IDisk disk = Make(isLinux);
        string path = Path.Combine(_folder, "a");
        using (IDiskFile file = disk.Open(path, DiskOpen.CreateNew))
        {
            file.Preallocate(0, 100_000);
            Assert.Equal(100_000, file.Length);
            file.Write("hello"u8, 50_000);
            file.Sync();
            file.Advise(0, 0, DiskAdvice.DontNeed);
        }
        using (IDiskFile file = disk.Open(path, DiskOpen.ReadWrite))
        {
            byte[] bytes = new byte[10];
            Assert.Equal(10, file.Read(bytes, 49_998));
            Assert.Equal("\0\0hello\0\0\0"u8, bytes);
            file.Truncate(50_002);
            Assert.Equal(4, file.Read(bytes, 49_998));
            Assert.Equal(0, file.Read(bytes, 60_000));
        }
        disk.SyncDirectory(_folder);
        Assert.Equal(new DiskEntry("a", 50_002), Assert.Single(disk.List(_folder)));
        Assert.True(disk.FreeBytes(_folder) > 0);
    }

    /// <summary>Where the system does not tell, all that follows counts as written.</summary>
    [Theory]
    [MemberData(nameof(Disks))]
    public void GivenRoomThatWasReserved_WhenDataIsLookedFor_ThenNoneThatWasWrittenIsPassedOver(bool isLinux)
    {
        const int length = 64 << 20;
        using IDiskFile file = Make(isLinux).Open(Path.Combine(_folder, "a"), DiskOpen.CreateNew);
        file.Preallocate(0, length);
        foreach (long place in (long[])[5, 10 << 20, length - 1])
        {
            file.Write("x"u8, place);
            (long begin, long end) = file.FindData(place - 5);
            Assert.InRange(begin, place - 5, place);
            Assert.InRange(end, place + 1, length);
        }

        file.Truncate(20 << 20);
        Assert.InRange(file.FindData(11 << 20).Begin, isLinux ? 12 << 20 : 11 << 20, 20 << 20);
        Assert.True(file.FindData(30 << 20).End <= 30 << 20);
    }

    [Fact]
    public void GivenASegmentOfWhichLittleWasWritten_WhenScanned_ThenItsEndIsFoundWithoutReadingTheRest()
    {
        var file = new ReservedFile();
        using var scanner = new SegmentScanner(file, "a", default, logSeed: 1);
        Assert.Equal(ScanVerdict.End, scanner.Next());
        Assert.InRange(file.ReadBytes, 1, 1 << 20);

        // Zeros that were written, room that was not, and then something.
        file.ZeroAt = 200 << 20;
        file.DataAt = 300 << 20;
        Assert.Equal(ScanVerdict.Bad, scanner.Next());
    }

    [Fact]
    public void GivenAVolumeThatTellsNoSize_WhenAsked_ThenItDoesNotCountAsFull()
    {
        if (OperatingSystem.IsLinux())
            Assert.True(Make(isLinux: true).FreeBytes("/proc") > 1L << 50);
    }

    [Theory]
    [MemberData(nameof(Disks))]
    public void GivenMissingExistingAndReadOnlyFiles_WhenUsed_ThenTheFaultSaysWhich(bool isLinux)
    {
        IDisk disk = Make(isLinux);
        string path = Path.Combine(_folder, "a");
        Assert.Equal(DiskFault.NotFound, Assert.Throws<DiskException>(() => disk.Open(path, DiskOpen.ReadWrite)).Fault);
        Assert.Equal(DiskFault.NotFound, Assert.Throws<DiskException>(() => disk.Rename(path, path + "b")).Fault);
        disk.Open(path, DiskOpen.CreateNew).Dispose();
        DiskException exists = Assert.Throws<DiskException>(() => disk.Open(path, DiskOpen.CreateNew));
        Assert.Equal((DiskFault.Exists, path), (exists.Fault, exists.Path));
        Assert.Empty(disk.List(Path.Combine(_folder, "none")));
        disk.Delete(Path.Combine(_folder, "none"));
        disk.Rename(path, path + "b");
        Assert.False(disk.Exists(path));
        Assert.True(disk.Exists(path + "b"));
        disk.Delete(path + "b");
        Assert.Empty(disk.List(_folder));
    }

    [Theory]
    [MemberData(nameof(Disks))]
    public void GivenALock_WhenTakenAgain_ThenItIsRefusedUntilItIsReleased(bool isLinux)
    {
        IDisk disk = Make(isLinux);
        string path = Path.Combine(_folder, "lock");
        using (disk.Lock(path))
            Assert.Equal(DiskFault.Locked, Assert.Throws<DiskException>(() => disk.Lock(path)).Fault);
        disk.Lock(path).Dispose();
    }

    [Fact]
    public void GivenAFullDevice_WhenWritten_ThenTheFaultIsFull()
    {
        Assert.SkipUnless(File.Exists("/dev/full"), "this system has no /dev/full");
        foreach (IDisk disk in new IDisk[] { new LinuxDisk(), new PortableDisk() })
        {
            using IDiskFile file = disk.Open("/dev/full", DiskOpen.ReadWrite);
            Assert.Equal(DiskFault.Full, Assert.Throws<DiskException>(() => file.Write("x"u8, 0)).Fault);
        }
    }

    private static IDisk Make(bool isLinux) => isLinux ? new LinuxDisk() : new PortableDisk();

    /// <summary>512 MiB that were reserved and never written, but for a byte.</summary>
    private sealed class ReservedFile : IDiskFile
    {
        public long ZeroAt { get; set; } = long.MaxValue;

        public long DataAt { get; set; } = long.MaxValue;

        public long ReadBytes { get; private set; }

        public long Length => 512 << 20;

        public int Read(Span<byte> buffer, long fileOffset)
        {
            int size = (int)Math.Min(buffer.Length, Length - fileOffset);
            buffer[..size].Clear();
            if (DataAt >= fileOffset && DataAt < fileOffset + size)
                buffer[(int)(DataAt - fileOffset)] = 1;
            ReadBytes += size;
            return size;
        }

        public (long Begin, long End) FindData(long fileOffset)
        {
            long at = new[] { ZeroAt, DataAt }.Where(one => one >= fileOffset && one < Length).DefaultIfEmpty(Length).Min();
            return (at, Math.Min(at + 1, Length));
        }

        public void Write(ReadOnlySpan<byte> bytes, long fileOffset) => throw new NotSupportedException();

        public void Sync() => throw new NotSupportedException();

        public void Preallocate(long fileOffset, long length) => throw new NotSupportedException();

        public void Truncate(long length) => throw new NotSupportedException();

        public void Advise(long fileOffset, long length, DiskAdvice advice)
        {
        }

        public void Dispose()
        {
        }
    }
}
