using System.Diagnostics.CodeAnalysis;

namespace EQueue.Remoting;

/// <summary>Waits for sockets to be readable or writable, and continues what waited for them on threads of its
/// own.</summary>
/// <remarks>
/// <para>Linux only: epoll(7) with EPOLLONESHOT. The system is asked about a socket only while a reader waits for it,
/// so bytes that come while their reader is at work wake no thread; and what waited continues on the very thread that
/// was woken. The runtime's own engine wakes its one thread for all that comes, which then wakes one of the
/// pool.</para>
/// <para>What continues here should not block for long. When no thread is idle, each that has been at one and the same
/// thing for a while has another one in its place, until that is not needed any more.</para>
/// </remarks>
[SuppressMessage("Design", "CA1001", Justification = "Lives as long as the process.")]
internal sealed class SocketPoller
{
    /// <summary>A switch of <see cref="AppContext"/>; false leaves all sockets to the runtime's engine.</summary>
    public const string Switch = "EQueue.Remoting.SocketPoller";

    private const int MaxThreads = 1000;
    private const int SpareThreadMs = 10_000;
    private const int StuckMs = 20;

    private static readonly int Threads = Math.Max(2, Environment.ProcessorCount);

    private readonly Lock _lock = new();
    private readonly Stack<int> _freeSlots = new();
    private readonly List<PollerThread> _threads = [];
    private readonly Timer _watch;
    private readonly int _epoll;
    private PolledSocket?[] _sockets = new PolledSocket?[64];
    private int _usedSlots;
    private uint _lastUse;
    private int _idle;
    private int _isWatched;

    private SocketPoller(int epoll)
    {
        _epoll = epoll;
        using (ExecutionContext.SuppressFlow())
        {
            _watch = new Timer(
                static poller => ((SocketPoller)poller!).Watch(), this, Timeout.Infinite, Timeout.Infinite);
        }
    }

    /// <summary>The process's; <see langword="null"/> where the system has no epoll.</summary>
    public static SocketPoller? Shared { get; } = Create();

    /// <summary>Whether every thread is at work: whatever comes next waits.</summary>
    public bool IsCrowded => Volatile.Read(ref _idle) == 0;

    /// <summary>Names a socket that is to be asked about.</summary>
    public ulong Add(PolledSocket socket)
    {
        lock (_lock)
        {
            if (_freeSlots.Count == 0)
                AddSlot();
            int slot = _freeSlots.Pop();
            Volatile.Write(ref _sockets[slot], socket);
            return ((ulong)++_lastUse << 32) | (uint)slot;
        }
    }

    /// <summary>Forgets a socket, which must be open still, and its name.</summary>
    public void Remove(PolledSocket socket)
    {
        _ = EpollCalls.Control(_epoll, EpollCalls.Delete, socket.Handle, 0, 0);
        lock (_lock)
        {
            Volatile.Write(ref _sockets[(int)(uint)socket.Name], null);
            _freeSlots.Push((int)(uint)socket.Name);
        }
    }

    /// <summary>Asks once about a socket.</summary>
    /// <returns>0, or the system's error number.</returns>
    public int Ask(PolledSocket socket, uint events, bool isFirst) => EpollCalls.Control(
        _epoll, isFirst ? EpollCalls.Add : EpollCalls.Modify, socket.Handle, events | EpollCalls.Once, socket.Name);

    private static SocketPoller? Create()
    {
        if (!OperatingSystem.IsLinux() || (AppContext.TryGetSwitch(Switch, out bool isOn) && !isOn))
            return null;
        int epoll = EpollCalls.Create();
        if (epoll < 0)
            return null;
        var poller = new SocketPoller(epoll);
        while (poller._threads.Count < Threads && poller.TryAddThread())
        {
            // As many as the system lets there be; those that are missing come when there is work for them.
        }

        if (poller._threads.Count > 0)
            return poller;
        EpollCalls.Close(epoll);
        return null;
    }

    /// <summary>Under the lock.</summary>
    private void AddSlot()
    {
        if (_usedSlots == _sockets.Length)
        {
            var grown = new PolledSocket?[_usedSlots * 2];
            _sockets.CopyTo(grown, 0);
            Volatile.Write(ref _sockets, grown);
        }

        _freeSlots.Push(_usedSlots++);
    }

    /// <returns>False when the system lets there be no more: a stuck thread has to come back.</returns>
    private bool TryAddThread()
    {
        lock (_lock)
        {
            var thread = new PollerThread(this, _threads.Count < Threads ? Timeout.Infinite : SpareThreadMs);
            _threads.Add(thread);
            Interlocked.Increment(ref _idle);
            try
            {
                new Thread(() => Run(thread)) { IsBackground = true, Name = "EQueue sockets" }.UnsafeStart();
                return true;
            }
            catch (Exception exception) when (exception is OutOfMemoryException or ThreadStartException)
            {
                Interlocked.Decrement(ref _idle);
                _threads.Remove(thread);
                return false;
            }
        }
    }

    /// <summary>One thread, which is counted as idle.</summary>
    private void Run(PollerThread thread)
    {
        thread.Claim();
        while (true)
        {
            int count = EpollCalls.Wait(_epoll, thread.PatienceMs, out uint events, out ulong name);
            if (count < 0)
                continue;
            bool isLast = Interlocked.Decrement(ref _idle) == 0;
            if (count == 0 && !isLast)
                break;
            if (count == 1)
            {
                if (isLast)
                    StartWatch();
                if (Find(name) is { } socket)
                    thread.GoOn(socket, events);
            }

            Interlocked.Increment(ref _idle);
        }

        lock (_lock)
            _threads.Remove(thread);
    }

    /// <summary>The socket of this name; <see langword="null"/> when it was told of and is gone.</summary>
    private PolledSocket? Find(ulong name)
    {
        PolledSocket? socket = Volatile.Read(ref Volatile.Read(ref _sockets)[(int)(uint)name]);
        return socket?.Name == name ? socket : null;
    }

    private void StartWatch()
    {
        if (Volatile.Read(ref _isWatched) == 0 && Interlocked.Exchange(ref _isWatched, 1) == 0)
            _watch.Change(StuckMs, Timeout.Infinite);
    }

    /// <summary>Looks for threads that are stuck, once none was idle, and again and again while none is.</summary>
    private void Watch()
    {
        int missing;
        lock (_lock)
        {
            int free = _threads.Count(thread => !thread.IsAtTurnFor(TimeSpan.FromMilliseconds(StuckMs)));
            missing = Math.Min(Threads - free, MaxThreads - _threads.Count);
        }

        while (missing-- > 0 && TryAddThread())
        {
            // One in the place of each that is stuck.
        }

        // A thread that finds it unset from here on starts it; one that found it set before is seen below.
        Interlocked.Exchange(ref _isWatched, 0);
        if (IsCrowded)
            StartWatch();
    }
}
