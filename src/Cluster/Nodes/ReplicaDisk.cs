using System.Diagnostics;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Cluster;

/// <summary>Writes what a follower is given, and syncs it, on a thread of its own: the rules never wait for
/// that.</summary>
internal sealed class ReplicaDisk : IDisposable
{
    private static readonly TimeSpan FullInterval = TimeSpan.FromSeconds(1);

    private readonly Mailbox<(EntryBlock Block, int Epoch, int Generation)> _blocks = new();
    private readonly Lock _lock;
    private readonly Func<ReplicaFiles?> _files;
    private readonly Func<int> _generation;
    private readonly TimeSpan _flushInterval;
    private readonly Action<ReplicaTail, LogPosition> _moved;
    private readonly Action<string> _refused;
    private readonly Action<DiskException> _full;
    private readonly Action<Exception> _failed;
    private readonly Thread _thread;
    private volatile bool _isStopping;
    private long _syncedAt;
    private bool _isFullTold;

    /// <param name="filesLock">Held while the files are used.</param>
    /// <param name="files">The open files, looked at under the lock; null while this node leads.</param>
    /// <param name="generation">Of the log as it is, looked at under the lock.</param>
    /// <param name="flushInterval">How often it is synced; zero = after each write.</param>
    /// <param name="moved">Told of each end, on this thread.</param>
    /// <param name="refused">Told that entries were not what may stand there.</param>
    /// <param name="full">Told once that the disk is full: it is tried again until there is room.</param>
    /// <param name="failed">Told that nothing is known of the disk any more.</param>
    public ReplicaDisk(
        Lock filesLock,
        Func<ReplicaFiles?> files,
        Func<int> generation,
        TimeSpan flushInterval,
        Action<ReplicaTail, LogPosition> moved,
        Action<string> refused,
        Action<DiskException> full,
        Action<Exception> failed)
    {
        (_lock, _files, _generation, _flushInterval) = (filesLock, files, generation, flushInterval);
        (_moved, _refused, _full, _failed) = (moved, refused, full, failed);
        _thread = new Thread(Run) { IsBackground = true, Name = "equeue-replica-disk" };
    }

    public void Start() => _thread.Start();

    /// <summary>Has entries stored.</summary>
    /// <param name="block">The disk's from here on.</param>
    /// <param name="epoch">Of the leader who gave them.</param>
    /// <param name="generation">Of the log for which they were fetched.</param>
    public void Append(EntryBlock block, int epoch, int generation) => _blocks.Post((block, epoch, generation));

    /// <summary>Ends the thread; what it has begun is finished.</summary>
    public void Dispose()
    {
        _isStopping = true;
        _blocks.Close();
        if (_thread.IsAlive)
            _thread.Join();
    }

    private void Run()
    {
        try
        {
            bool isDirty = false;
            while (!_isStopping)
            {
                TimeSpan left = _flushInterval - Stopwatch.GetElapsedTime(_syncedAt);
                TimeSpan wait = isDirty
                    ? TimeSpan.FromMilliseconds(Math.Ceiling(Math.Max(0, left.TotalMilliseconds)))
                    : Timeout.InfiniteTimeSpan;
                if (_blocks.TryTake(out (EntryBlock Block, int Epoch, int Generation) next, wait))
                {
                    isDirty |= TryAppend(next.Block, next.Epoch, next.Generation);
                    if (!_blocks.IsEmpty)
                        continue;
                }

                if (!isDirty || Stopwatch.GetElapsedTime(_syncedAt) < _flushInterval)
                    continue;
                Sync();
                isDirty = false;
            }
        }
        catch (Exception exception)
        {
            _failed(exception);
        }
    }

    private bool TryAppend(EntryBlock block, int epoch, int generation)
    {
        try
        {
            while (true)
            {
                try
                {
                    lock (_lock)
                    {
                        if (_files() is not { } files || _generation() != generation)
                        {
                            _refused("the log was cut, or led, since they were fetched");
                            return false;
                        }

                        files.AppendStored(block.Span, epoch);
                        _isFullTold = false;
                        _moved(files.Tail, files.Durable);
                        return true;
                    }
                }
                catch (DiskException exception) when (exception.Fault == DiskFault.Full && !_isStopping)
                {
                    // Nothing is acknowledged meanwhile: the leader continues without this node.
                    if (!_isFullTold)
                        _full(exception);
                    _isFullTold = true;
                    Thread.Sleep(FullInterval);
                }
            }
        }
        catch (ReplicaException exception)
        {
            _refused(exception.Message);
            return false;
        }
        finally
        {
            block.Release();
        }
    }

    private void Sync()
    {
        lock (_lock)
        {
            if (_files() is not { } files)
                return;
            files.Sync();
            _syncedAt = Stopwatch.GetTimestamp();
            _moved(files.Tail, files.Durable);
        }
    }
}
