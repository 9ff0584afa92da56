using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Backups and restores that cannot be made, are interrupted, or find damage.</summary>
public sealed class BackupFaultTests : BackupTest
{
    [Fact]
    public async Task GivenNewFolders_WhenBackedUpAndRestored_ThenTheirNamesAreDurable()
    {
        await using (QueueStore store = await OpenAsync(Segmented))
            await AppendAsync(store, await OpenQueueAsync(store), "kept");
        List<string> synced = [];
        Disk.OnSyncDirectory = synced.Add;
        string above = Path.GetDirectoryName(Folder)!;

        BackupWriter.Run(Options, Disk, Disk, Cancel);
        Assert.Contains(above, synced);
        synced.Clear();
        BackupReader.Restore(Disk, Backup, Restored, null, Cancel);

        Assert.Contains(above, synced);
    }

    [Fact]
    public async Task GivenTheBackupOfAnotherStore_WhenBackedUp_ThenItIsRefusedAndStays()
    {
        await MakeAsync();
        BackupResult backup = Write();
        string other = Folder + "-other";
        await using QueueStore store = await OpenAsync(Segmented with { DataDirectory = other });
        BackupException refusal = Assert.Throws<BackupException>(
            () => StoreBackup.Write(Options with { DataDirectory = other }, Cancel));
        Assert.Equal(BackupFault.OtherStore, refusal.Fault);
        Assert.Contains($"{store.StoreId}", refusal.Message, StringComparison.Ordinal);
        Assert.Contains($"{backup.StoreId}", refusal.Message, StringComparison.Ordinal);
        Assert.Equal(backup.EndPosition, StoreBackup.Verify(Backup, null, Fail, Cancel).EndPosition);
    }

    [Theory]
    [InlineData("letter.txt")]
    [InlineData("letters/letter.txt")]
    [InlineData("logs/letter.txt")]
    public async Task GivenADirectoryWithSomethingElse_WhenBackedUpOrRestoredInto_ThenItIsRefusedAndStays(string file)
    {
        await MakeAsync();
        Write();
        string other = Folder + "-other";
        Directory.CreateDirectory(Path.GetDirectoryName(Path.Combine(other, file))!);
        File.WriteAllText(Path.Combine(other, file), "dear");
        BackupException refusal = Assert.Throws<BackupException>(
            () => StoreBackup.Write(Options with { BackupDirectory = other }, Cancel));
        Assert.Equal(BackupFault.WrongDirectory, refusal.Fault);
        refusal = Assert.Throws<BackupException>(() => StoreBackup.Restore(Backup, other, null, Cancel));
        Assert.Equal(BackupFault.WrongDirectory, refusal.Fault);
        refusal = Assert.Throws<BackupException>(() => StoreBackup.Restore(other, Restored, null, Cancel));
        Assert.Equal(BackupFault.NoBackup, refusal.Fault);
        Assert.Equal([file.Replace('/', Path.DirectorySeparatorChar)], Files(other));
        Assert.False(Directory.Exists(Restored));
    }

    [Fact]
    public async Task GivenDirectoriesInEachOther_WhenBackedUpOrRestored_ThenItIsRefused()
    {
        await MakeAsync();
        foreach (string backup in new[] { Folder, Path.Combine(Folder, "backup"), Path.GetDirectoryName(Folder)! })
        {
            BackupException refusal = Assert.Throws<BackupException>(
                () => StoreBackup.Write(Options with { BackupDirectory = backup }, Cancel));
            Assert.Equal(BackupFault.WrongDirectory, refusal.Fault);
        }

        Write();
        Assert.Throws<BackupException>(() => StoreBackup.Restore(Backup, Path.Combine(Backup, "data"), null, Cancel));
    }

    [Fact]
    public async Task GivenAStoreThatIsInUseOrHasMessages_WhenRestoredInto_ThenItIsRefusedAndStays()
    {
        await MakeAsync();
        Write();
        await using (QueueStore store = await OpenAsync(Segmented))
        {
            BackupException inUse = Assert.Throws<BackupException>(
                () => StoreBackup.Restore(Backup, Folder, null, Cancel));
            Assert.Equal(BackupFault.InUse, inUse.Fault);
        }

        string[] before = Files(Folder);
        BackupException notEmpty = Assert.Throws<BackupException>(
            () => StoreBackup.Restore(Backup, Folder, null, Cancel));
        Assert.Equal(BackupFault.WrongDirectory, notEmpty.Fault);
        Assert.Equal(before, Files(Folder));
    }

    [Fact]
    public async Task GivenABackupUnderWay_WhenAnotherOneOrARestoreBegins_ThenItIsRefused()
    {
        await MakeAsync();
        Write();
        BackupResult last = StoreBackup.Write(
            Options with
            {
                Progress = _ =>
                {
                    Assert.Equal(BackupFault.InUse, Assert.Throws<BackupException>(() => Write()).Fault);
                    Assert.Equal(BackupFault.InUse, Assert.Throws<BackupException>(() => Restore()).Fault);
                },
            },
            Cancel);
        Assert.Equal(last.EndPosition, Restore().EndPosition);
    }

    [Fact]
    public async Task GivenARestoreUnderWay_WhenAStoreOpensThere_ThenItIsLockedOut()
    {
        await MakeAsync();
        Write();
        Exception? refusal = null;
        StoreBackup.Restore(
            Backup, Restored,
            _ => refusal ??= OpenRestoredAsync(new MemoryState()).ContinueWith(
                opening => opening.Exception?.InnerException, TaskScheduler.Default).GetAwaiter().GetResult(),
            Cancel);
        Assert.Equal(DiskFault.Locked, Assert.IsType<DiskException>(refusal).Fault);
    }

    [Fact]
    public async Task GivenADamagedFile_WhenVerifiedOrRestored_ThenItIsNamedAndTheNextBackupMendsIt()
    {
        QueueId queue = await MakeAsync();
        Write();
        string damaged = Directory.GetFiles(LogFiles.LogDirectory(Backup), "*.log.*").Order().First();
        byte[] bytes = File.ReadAllBytes(damaged);
        bytes[^(bytes.Length / 3)] ^= 4;
        File.WriteAllBytes(damaged, bytes);
        string gone = Directory.GetFiles(LogFiles.LogDirectory(Backup), "*.index.*").Order().First();
        File.Delete(gone);

        var found = new List<string>();
        StoreBackup.Verify(Backup, null, found.Add, Cancel);
        Assert.Equal([damaged, gone], found.Order(StringComparer.Ordinal).Reverse());
        StoreFormatException exception = Assert.Throws<StoreFormatException>(() => Restore());
        Assert.Equal(damaged, exception.Path);
        await Assert.ThrowsAsync<StoreFormatException>(() => OpenRestoredAsync(new MemoryState()));

        File.Delete(damaged);
        Assert.Equal(2, Write().FilesCopied);
        StoreBackup.Verify(Backup, null, Fail, Cancel);
        Restore();
        await using QueueStore copy = await OpenRestoredAsync(new MemoryState());
        await AssertHoldsAsync(copy, queue, 30);
    }

    [Fact]
    public async Task GivenADamagedOrHostileList_WhenRead_ThenNothingIsRestoredAnywhere()
    {
        await MakeAsync();
        Write();
        string list = Path.Combine(Backup, BackupManifest.FileName);
        BackupManifest manifest = BackupManifest.Read(Real, Backup)!;
        foreach (string name in new[] { "../letter", "logs/0/../../../letter", "/letter", "logs/1/a.log", "lock" })
        {
            (manifest with { Files = [.. manifest.Files, new BackupFile(name, 0, 0)] }).Write(Real, Backup);
            Assert.Equal(list, Assert.Throws<StoreFormatException>(() => Restore()).Path);
        }

        manifest.Write(Real, Backup);
        byte[] whole = File.ReadAllBytes(list);
        for (int at = 0; at < whole.Length; at += at < 200 || at > 4090 ? 1 : 500)
        {
            byte[] bytes = [.. whole];
            bytes[at] ^= 1;
            File.WriteAllBytes(list, bytes);
            if (BytesThatCount(at))
                Assert.Throws<StoreFormatException>(() => Restore());
        }

        Assert.False(Directory.Exists(Restored));

        static bool BytesThatCount(int at) => at is < 120 or >= 4096;
    }

    [Fact]
    public async Task GivenABackupOfALaterVersion_WhenReadOrWritten_ThenTheVersionIsNamed()
    {
        await MakeAsync();
        Write();
        string list = Path.Combine(Backup, BackupManifest.FileName);
        byte[] bytes = File.ReadAllBytes(list);
        bytes[8] = 2;
        int used = bytes[10] + (bytes[11] << 8);
        BitConverter.TryWriteBytes(bytes.AsSpan(used - 4), Crc32C.Compute(bytes.AsSpan(0, used - 4)));
        File.WriteAllBytes(list, bytes);
        foreach (Action action in new Action[] { () => Write(), () => Restore() })
        {
            StoreFormatException refusal = Assert.Throws<StoreFormatException>(action);
            Assert.Contains("format version 2, this build reads version 1", refusal.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task GivenAFullDisk_WhenBackedUp_ThenItIsNamedAndTheFormerBackupStays()
    {
        await using QueueStore store = await OpenAsync(Segmented);
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, 0, 12);
        var target = new MemoryDisk(34L << 20);
        BackupOptions options = Options with { BackupDirectory = "/backup" };
        BackupResult first = BackupWriter.Run(options, Real, target, Cancel);
        using (IDiskFile filler = target.Open("/filler", DiskOpen.CreateNew))
        {
            filler.Preallocate(0, target.FreeBytes("/") - (100 << 10));
            await AppendAsync(store, queue, 12, 60);
            DiskException full = Assert.Throws<DiskException>(
                () => BackupWriter.Run(options, Real, target, Cancel));
            Assert.Equal(DiskFault.Full, full.Fault);
            Assert.Equal(first, BackupReader.Verify(target, "/backup", null, Fail, Cancel) with
            {
                FilesPresent = first.FilesPresent,
            });
        }

        target.Delete("/filler");
        BackupResult second = BackupWriter.Run(options, Real, target, Cancel);
        Assert.True(second.EndPosition > first.EndPosition);
        Assert.True(second.FilesPresent > 2); // what the failed one had copied counts
        BackupReader.Verify(target, "/backup", null, Fail, Cancel);
    }

    [Fact]
    public async Task GivenABackupThatIsCancelled_WhenAnotherOneIsMade_ThenItGoesOnWhereThatWas()
    {
        await MakeAsync(60);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(Cancel);
        Assert.Throws<OperationCanceledException>(() => StoreBackup.Write(
            Options with
            {
                Progress = progress =>
                {
                    if (progress.DoneBytes > progress.TotalBytes / 2)
                        stop.Cancel();
                },
            },
            stop.Token));
        Assert.Equal(BackupFault.NoBackup, Assert.Throws<BackupException>(() => Restore()).Fault);
        Assert.DoesNotContain(Files(Backup), name => name.EndsWith(".tmp", StringComparison.Ordinal));
        BackupResult result = Write();
        Assert.InRange(result.BytesPresent, result.BytesCopied / 3, long.MaxValue);
        Restore();
    }

    [Theory]
    [InlineData(PowerCutStyle.NothingUnsynced)]
    [InlineData(PowerCutStyle.Everything)]
    [InlineData(PowerCutStyle.Subset)]
    public async Task GivenBackups_WhenCutAtAnyChange_ThenTheFormerOrTheNewOneIsWholeAndTheNextGoesOn(PowerCutStyle style)
    {
        await using QueueStore store = await OpenAsync(Segmented);
        QueueId queue = await OpenQueueAsync(store);
        var target = new SimulatedDisk(keepsJournal: true);
        BackupOptions options = Options with { BackupDirectory = "/disk/backup" };
        await AppendAsync(store, queue, 0, 12);
        BackupResult first = BackupWriter.Run(options, Real, target, Cancel);
        int begun = target.ChangeCount;
        await AppendAsync(store, queue, 12, 24);
        BackupResult second = BackupWriter.Run(options, Real, target, Cancel);

        IReadOnlyList<DiskOperation> journal = target.Journal;
        var replay = new DiskReplay(journal);
        for (int changes = begun; changes <= journal.Count; changes++)
        {
            replay.PlayTo(changes, changes < journal.Count ? (journal[changes].Bytes?.Length ?? 0) / 2 : 0);
            SimulatedDisk left = changes % 2 == 0 ? replay.Kill() : replay.CutPower(changes, style);
            BackupResult found = BackupReader.Verify(
                left, "/disk/backup", null, path => Assert.Fail($"{path} after {changes} changes"), Cancel);
            Assert.Contains(found.EndPosition, new[] { first.EndPosition, second.EndPosition });
            BackupResult next = BackupWriter.Run(options, Real, left, Cancel);
            Assert.True(next.EndPosition >= second.EndPosition);
            BackupReader.Verify(left, "/disk/backup", null, Fail, Cancel);
        }
    }

    [Theory]
    [InlineData(PowerCutStyle.NothingUnsynced)]
    [InlineData(PowerCutStyle.Everything)]
    [InlineData(PowerCutStyle.Subset)]
    public async Task GivenARestore_WhenCutAtAnyChange_ThenNoStoreOpensInPartAndTheNextRestoreIsWhole(PowerCutStyle style)
    {
        var disk = new SimulatedDisk(keepsJournal: true);
        StoreOptions options = Segmented with { Disk = disk, DataDirectory = "/disk/data" };
        QueueId queue;
        await using (QueueStore store = await OpenAsync(options))
        {
            queue = await OpenQueueAsync(store);
            await AppendAsync(store, queue, 0, 12);
        }

        BackupWriter.Run(
            new BackupOptions { DataDirectory = "/disk/data", BackupDirectory = "/disk/backup" }, disk, disk, Cancel);
        int begun = disk.ChangeCount;
        BackupReader.Restore(disk, "/disk/backup", "/disk/restored", null, Cancel);
        IReadOnlyList<DiskOperation> journal = disk.Journal;
        var replay = new DiskReplay(journal);
        for (int changes = begun; changes <= journal.Count; changes++)
        {
            replay.PlayTo(changes, changes < journal.Count ? (journal[changes].Bytes?.Length ?? 0) / 2 : 0);
            SimulatedDisk left = changes % 2 == 0 ? replay.Kill() : replay.CutPower(changes, style);
            bool isWhole = left.Exists("/disk/restored/store") && !RestoreMarker.IsThere(left, "/disk/restored");
            if (!isWhole)
                BackupReader.Restore(left, "/disk/backup", "/disk/restored", null, Cancel);
            await using QueueStore copy = await OpenAsync(
                options with { Disk = left, DataDirectory = "/disk/restored" });
            await AssertHoldsAsync(copy, queue, 12);
        }
    }

    private static void Fail(string path) => Assert.Fail($"{path} is damaged");

    private async Task<QueueId> MakeAsync(int count = 30)
    {
        await using QueueStore store = await OpenAsync(Segmented);
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, 0, count);
        return queue;
    }
}
