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
        {
            Assert.Equal(DiskFault.Locked, Assert.Throws<DiskException>(() => disk.Lock(path)).Fault);
        }
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
}
