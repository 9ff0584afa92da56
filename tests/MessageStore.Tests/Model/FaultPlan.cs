using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>What goes wrong with the calls of a simulated disk, now and next. Thread-safe.</summary>
internal sealed class FaultPlan : IDisposable
{
    private readonly Lock _lock = new();
    private readonly ManualResetEventSlim _never = new();
    private readonly Histogram _histogram;
    private SimulatedDisk _disk = null!;
    private int _fullCalls;
    private DiskOperationKind? _fullKind;
    private DiskOperationKind? _broken;
    private int _slowCalls;
    private int _callsToDeath = int.MaxValue;
    private bool _isDead;

    public FaultPlan(Histogram histogram) => _histogram = histogram;

    /// <summary>Whether calls find no room now.</summary>
    public bool IsFull
    {
        get
        {
            lock (_lock)
                return _fullCalls > 0;
        }
    }

    /// <summary>Whether some call found no room, or found less than the reserve, since the store was opened.</summary>
    public bool WasFull { get; private set; }

    /// <summary>Whether something was broken since the store was opened that it may not survive.</summary>
    public bool MayLatch { get; private set; }

    /// <summary>From now on for this disk; nothing is wrong with it.</summary>
    public void Attach(SimulatedDisk disk)
    {
        lock (_lock)
        {
            Clear();
            WasFull = MayLatch = _isDead = false;
            _disk = disk;
            disk.OnChange = Pass;
        }
    }

    /// <summary>So many calls find no room: of one kind, or all that need some.</summary>
    public void Fill(int calls, DiskOperationKind? kind)
    {
        lock (_lock)
        {
            (_fullCalls, _fullKind, WasFull) = (calls, kind, true);
            // A sync that finds no room has lost what it should have written: the store does not go on from there.
            MayLatch |= kind is DiskOperationKind.SyncFile or DiskOperationKind.SyncDirectory;
        }
    }

    /// <summary>The next call of this kind fails; a sync loses what it should have made durable.</summary>
    public void Break(DiskOperationKind kind)
    {
        lock (_lock)
            (_broken, MayLatch) = (kind, true);
    }

    /// <summary>The process dies after so many calls.</summary>
    public void DieAfter(int calls)
    {
        lock (_lock)
            (_callsToDeath, MayLatch) = (calls, true);
    }

    /// <summary>So many calls take their time.</summary>
    public void Slow(int calls)
    {
        lock (_lock)
            _slowCalls = calls;
    }

    /// <summary>There is room, nothing is broken any more.</summary>
    public void Clear()
    {
        lock (_lock)
        {
            (_fullCalls, _broken, _slowCalls, _callsToDeath) = (0, null, 0, int.MaxValue);
            if (_disk is not null)
                _disk.Free = 1L << 40;
        }
    }

    /// <summary>The disk has less room than the store wants to keep free.</summary>
    public void TakeRoom()
    {
        lock (_lock)
        {
            WasFull = true;
            _disk.Free = 1_000;
        }
    }

    public void Dispose() => _never.Dispose();

    private void Pass(DiskOperationKind kind, string path)
    {
        bool isSlow;
        lock (_lock)
        {
            if (_isDead || _callsToDeath-- <= 0)
            {
                _isDead = true;
                throw new DiskException(DiskFault.Io, path, $"{kind}", "the process is dead");
            }

            FailWhenFull(kind, path);
            if (_broken == kind)
            {
                _broken = null;
                _histogram.Count($"fault: {kind} failed");
                if (kind == DiskOperationKind.SyncFile)
                    _disk.LoseUnsynced(path);
                throw new DiskException(DiskFault.Io, path, $"{kind}", "the device failed");
            }

            isSlow = _slowCalls-- > 0;
        }

        if (isSlow)
            _never.Wait(TimeSpan.FromMilliseconds(2));
    }

    private void FailWhenFull(DiskOperationKind kind, string path)
    {
        bool needsRoom = kind is DiskOperationKind.Create or DiskOperationKind.Write or DiskOperationKind.SetLength
            or DiskOperationKind.Rename;
        if (_fullCalls == 0 || (_fullKind is null ? !needsRoom : _fullKind != kind))
            return;
        _fullCalls--;
        _histogram.Count($"fault: no room for {kind}");
        throw new DiskException(DiskFault.Full, path, $"{kind}", "no space left");
    }
}
