using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>The simulated disk promises what a real one does, and not more.</summary>
public sealed class SimulatedDiskTests
{
    private const string Folder = "/d";
    private const string Name = "/d/file";

    private readonly SimulatedDisk _disk = new();

    public SimulatedDiskTests() => _disk.CreateDirectory(Folder);

    [Fact]
    public void GivenASyncedFile_WhenThePowerIsCut_ThenItsBytesAreThereInEveryStyle()
    {
        Make([1, 2, 3]).Sync();
        _disk.SyncDirectory(Folder);
        foreach (PowerCutStyle style in Enum.GetValues<PowerCutStyle>())
        {
            for (int seed = 0; seed < 50; seed++)
                Assert.Equal([1, 2, 3], _disk.AfterPowerCut(seed, style).ReadAll(Name));
        }
    }

    [Fact]
    public void GivenAnUnsyncedWrite_WhenThePowerIsCut_ThenItMayBeLostWholeOrTornAtAnyByte()
    {
        IDiskFile file = Make(new byte[2_000]);
        file.Sync();
        _disk.SyncDirectory(Folder);
        file.Write(Filled(2_000, 7), 0);
        int[] survivors =
            [.. Enumerable.Range(0, 400).Select(seed => Cut(_disk, seed).ReadAll(Name).Count(value => value == 7))];

        Assert.Contains(0, survivors);
        Assert.Contains(2_000, survivors);
        Assert.Contains(survivors, count => count % 512 != 0 && count is > 0 and < 2_000);
        Assert.Equal(0, Cut(_disk, 1, PowerCutStyle.NothingUnsynced).ReadAll(Name).Count(value => value == 7));
        Assert.Equal(2_000, Cut(_disk, 1, PowerCutStyle.Everything).ReadAll(Name).Count(value => value == 7));
    }

    [Fact]
    public void GivenTwoUnsyncedWrites_WhenThePowerIsCut_ThenTheLaterMaySurviveWithoutTheEarlier()
    {
        IDiskFile file = Make(new byte[2]);
        file.Sync();
        _disk.SyncDirectory(Folder);
        file.Write([1], 0);
        file.Write([2], 1);
        Assert.Contains(Enumerable.Range(0, 200), seed => Cut(_disk, seed).ReadAll(Name) is [0, 2]);
    }

    [Fact]
    public void GivenNamesThatWereNotSynced_WhenThePowerIsCut_ThenCreationRenameAndRemovalMayBeUndone()
    {
        Make([1]).Sync();
        Assert.Empty(Cut(_disk, 1, PowerCutStyle.NothingUnsynced).Files);
        _disk.SyncDirectory(Folder);
        _disk.Rename(Name, "/d/other");
        Assert.Equal([Name], Cut(_disk, 1, PowerCutStyle.NothingUnsynced).Files);
        Assert.Equal(["/d/other"], Cut(_disk, 1, PowerCutStyle.Everything).Files);
        _disk.SyncDirectory(Folder);
        _disk.Delete("/d/other");
        Assert.Equal(["/d/other"], Cut(_disk, 1, PowerCutStyle.NothingUnsynced).Files);
        Assert.Empty(_disk.Files);
    }

    [Fact]
    public void GivenADeadProcess_WhenKilled_ThenEverythingWrittenIsThereAndTheOldDiskIsOff()
    {
        IDiskFile file = Make([1, 2]);
        SimulatedDisk after = _disk.Kill();
        Assert.Equal([1, 2], after.ReadAll(Name));
        Assert.Equal(DiskFault.Io, Assert.Throws<DiskException>(() => file.Write([3], 2)).Fault);
        Assert.Equal([1, 2], after.ReadAll(Name));
    }

    [Fact]
    public void GivenAByteBudget_WhenAWriteCrossesIt_ThenExactlySoManyBytesAreWrittenAndThePowerIsOff()
    {
        IDiskFile file = Make([]);
        _disk.CutAfterBytes(5);
        file.Write([1, 2, 3], 0);
        Assert.Throws<DiskException>(() => file.Write([4, 5, 6], 3));
        Assert.Throws<DiskException>(() => file.Sync());
        Assert.Equal([1, 2, 3, 4, 5], _disk.Copy().ReadAll(Name));
    }

    [Fact]
    public void GivenASyncThatFailed_WhenSyncedAgain_ThenTheForgottenPagesStayLost()
    {
        IDiskFile file = Make(new byte[4]);
        file.Sync();
        _disk.SyncDirectory(Folder);
        file.Write([9, 9], 0);
        _disk.LoseUnsynced(Name);
        file.Write([8], 3);
        file.Sync();
        byte[] seen = new byte[4];
        file.Read(seen, 0);
        Assert.Equal([9, 9, 0, 8], seen);
        Assert.Equal([0, 0, 0, 8], Cut(_disk, 1, PowerCutStyle.Everything).ReadAll(Name));
    }

    [Fact]
    public void GivenAFaultOnCall_WhenItIsMade_ThenItFailsAndChangesNothing()
    {
        IDiskFile file = Make([1]);
        _disk.OnChange = (kind, path) =>
        {
            if (kind == DiskOperationKind.Write)
                throw new DiskException(DiskFault.Full, path, "write", "as simulated");
        };
        Assert.Equal(DiskFault.Full, Assert.Throws<DiskException>(() => file.Write([2], 0)).Fault);
        Assert.Equal([1], _disk.ReadAll(Name));
    }

    [Fact]
    public void GivenAJournal_WhenReplayedToAByte_ThenTheDiskIsAsItWasThen()
    {
        var disk = new SimulatedDisk(keepsJournal: true);
        disk.CreateDirectory(Folder);
        using IDiskFile file = disk.Open(Name, DiskOpen.CreateNew);
        file.Write([1, 2, 3, 4], 0);
        file.Write([5, 6, 7, 8], 4);
        var replay = new DiskReplay(disk.Journal);
        replay.PlayTo(3, bytes: 2);
        Assert.Equal([1, 2, 3, 4, 5, 6], replay.Kill().ReadAll(Name));
        replay.PlayTo(4, bytes: 0);
        Assert.Equal([1, 2, 3, 4, 5, 6, 7, 8], replay.Kill().ReadAll(Name));
    }

    [Fact]
    public void GivenALock_WhenTakenTwice_ThenTheSecondIsRefusedUntilTheFirstIsGone()
    {
        IDisposable first = _disk.Lock("/d/lock");
        Assert.Equal(DiskFault.Locked, Assert.Throws<DiskException>(() => _disk.Lock("/d/lock")).Fault);
        first.Dispose();
        _disk.Lock("/d/lock").Dispose();
    }

    private static SimulatedDisk Cut(SimulatedDisk disk, int seed, PowerCutStyle style = PowerCutStyle.Subset) =>
        disk.AfterPowerCut(seed, style);

    private static byte[] Filled(int size, byte value)
    {
        byte[] bytes = new byte[size];
        Array.Fill(bytes, value);
        return bytes;
    }

    private IDiskFile Make(byte[] bytes)
    {
        IDiskFile file = _disk.Open(Name, DiskOpen.CreateNew);
        file.Write(bytes, 0);
        return file;
    }
}
