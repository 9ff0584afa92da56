using EQueue.MessageStore;
using EQueue.Replication;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Tests;

/// <summary>The record of a replica's rules is written soon, and the newest always is.</summary>
public sealed class ReplicaDirectoryTests
{
    [Fact]
    public async Task GivenAWriteThatIsSlow_WhenNewerRecordsComeMeanwhile_ThenTheNewestIsWritten()
    {
        using var place = new TempDirectory();
        using var disk = new HeldDisk();
        var options = new ReplicaFilesOptions { DataDirectory = place["data"], Disk = disk };
        ReplicaFiles.Create(options, Guid.NewGuid(), Guid.NewGuid(), TimeProvider.System);
        var files = ReplicaFiles.Open(
            options, NullLogger.Instance, TimeProvider.System, TestContext.Current.CancellationToken);
        Exception? failure = null;
        using var directory = new ReplicaDirectory(
            options, files, NullLogger.Instance, TimeProvider.System, exception => failure = exception);
        var first = ReplicaRecord.Empty(default, isSync: true);
        disk.Hold();

        directory.PersistSoon(first with { Epoch = 1 });
        await disk.WhenHeld.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
        directory.PersistSoon(first with { Epoch = 2 });
        directory.PersistSoon(first with { Epoch = 3 });
        disk.Release();

        await Eventually.TrueAsync(() => EpochIn(directory) == 3, "The newest record should be written.");
        await directory.EndWritingAsync();
        Assert.Null(failure);
    }

    private static int? EpochIn(ReplicaDirectory directory)
    {
        lock (directory.Lock)
            return RecordCodec.Read(directory.Files!.Note.Record.Span)?.Epoch;
    }

    /// <summary>Once told to, holds whatever opens a file.</summary>
    private sealed class HeldDisk() : ForwardingDisk(PortableDisk.ForThisSystem()), IDisposable
    {
        private readonly ManualResetEventSlim _open = new(true);
        private readonly TaskCompletionSource _held = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task WhenHeld => _held.Task;

        public void Hold() => _open.Reset();

        public void Release() => _open.Set();

        public override IDiskFile Open(string path, DiskOpen mode)
        {
            if (!_open.IsSet)
            {
                _held.TrySetResult();
                _open.Wait();
            }

            return base.Open(path, mode);
        }

        public void Dispose() => _open.Dispose();
    }
}
