using System.Diagnostics;

namespace EQueue.Remoting;

/// <summary>One thread of the <see cref="SocketPoller"/>, and what it does for one socket after the other.</summary>
internal sealed class PollerThread
{
    /// <summary>What comes within this time is there sooner than this thread would be asleep and awake again.</summary>
    private static readonly TimeSpan LongestSpin = TimeSpan.FromMicroseconds(20);

    /// <summary>The same where much comes at a time: that much takes a while to be made.</summary>
    private static readonly TimeSpan LongestBusySpin = TimeSpan.FromMicroseconds(40);

    /// <summary>How long what is never done may keep this thread when others wait for it.</summary>
    private static readonly TimeSpan LongestTurn = TimeSpan.FromMilliseconds(1);

    [ThreadStatic]
    private static PollerThread? _ofThread;

    private readonly SocketPoller _poller;
    private PolledSocket? _socket;
    private bool _isPrompt;
    private SocketWait? _deferred;
    private IThreadPoolWorkItem? _kept;
    private ExecutionContext? _context;
    private long _began;

    /// <param name="poller">Whose it is.</param>
    /// <param name="patienceMs">How long it stays without work; -1 = without end.</param>
    public PollerThread(SocketPoller poller, int patienceMs)
    {
        _poller = poller;
        PatienceMs = patienceMs;
    }

    /// <summary>Whether the calling thread is a poller's.</summary>
    public static bool IsCurrent => _ofThread is not null;

    /// <summary>How long it stays without work; -1 = without end.</summary>
    public int PatienceMs { get; }

    /// <summary>Whether the calling thread is the poller's, has been at one socket for long, and every other one is at
    /// work as well: then what is there is to be waited for, behind the others.</summary>
    public static bool MustGiveWay => _ofThread is { _socket: not null } thread && thread._poller.IsCrowded
        && Stopwatch.GetElapsedTime(thread._began) > LongestTurn;

    /// <summary>Puts off a wait for the socket that the calling thread is at until everything else is done for
    /// it.</summary>
    /// <returns>False when the thread is not at that socket, and may be kept from coming back.</returns>
    public static bool TryDefer(PolledSocket socket, SocketWait wait)
    {
        if (_ofThread is not { } thread || thread._socket != socket || MustGiveWay)
            return false;
        thread._deferred = wait;
        return true;
    }

    /// <summary>Takes back a wait that the calling thread has put off.</summary>
    /// <returns>False when it has not: another thread will end it.</returns>
    public static bool TryTakeBack(SocketWait wait)
    {
        if (_ofThread is not { } thread || thread._deferred != wait)
            return false;
        thread._deferred = null;
        return true;
    }

    /// <summary>Keeps work for when the calling thread is through with its socket.</summary>
    /// <param name="work">What.</param>
    /// <param name="unlessPrompt">Not if the socket may soon have more.</param>
    /// <returns>False when it is at none, or at one with much to read, keeps some already, or is the last one that the
    /// sockets have.</returns>
    public static bool TryKeep(IThreadPoolWorkItem work, bool unlessPrompt)
    {
        if (_ofThread is not { _socket.IsQuiet: true, _kept: null } thread || thread._poller.IsCrowded)
            return false;
        if (unlessPrompt && thread._isPrompt)
            return false;
        thread._kept = work;
        return true;
    }

    /// <summary>A receive loop has ended. Its awaiter continues on the calling thread for any length of time:
    /// no work is kept for this thread.</summary>
    public static void Leave()
    {
        PassOn();
        if (_ofThread is { } thread)
            thread._socket = null;
    }

    /// <summary>The socket gave more: what the calling thread keeps does not wait for that.</summary>
    public static void PassOn()
    {
        if (_ofThread is not { _kept: { } work } thread)
            return;
        thread._kept = null;
        ThreadPool.UnsafeQueueUserWorkItem(work, preferLocal: false);
    }

    /// <summary>The calling thread is this one from now on.</summary>
    public void Claim()
    {
        _ofThread = this;
        _context = ExecutionContext.Capture();
    }

    /// <summary>Whether it has been at one socket for so long.</summary>
    public bool IsAtTurnFor(TimeSpan time) =>
        Volatile.Read(ref _began) is var began and not 0 && Stopwatch.GetElapsedTime(began) > time;

    /// <summary>Continues what waits for these events of a socket, and all that follows from it.</summary>
    public void GoOn(PolledSocket socket, uint events)
    {
        Volatile.Write(ref _began, Stopwatch.GetTimestamp());
        _socket = socket;
        _isPrompt = socket.IsPrompt();
        socket.GoOn(events);
        while (_deferred is { } wait)
        {
            _deferred = null;
            if (_kept is null && _isPrompt)
                socket.NoteLook(GoOnSoon(socket, wait));
            else
                wait.AskOrFail();
        }

        _socket = null;
        RunKept();
        Volatile.Write(ref _began, 0);
    }

    /// <summary>Runs what was kept; nothing of its context stays with the thread.</summary>
    private void RunKept()
    {
        if (_kept is not { } work)
            return;
        if (_poller.IsCrowded)
        {
            PassOn();
            return;
        }

        _kept = null;
        ExecutionContext.Run(_context!, static work => ((IThreadPoolWorkItem)work!).Execute(), work);
    }

    /// <summary>Looks for what is awaited a moment before the system is asked to tell.</summary>
    /// <returns>Whether it was there.</returns>
    private bool GoOnSoon(PolledSocket socket, SocketWait wait)
    {
        TimeSpan longest = socket.IsQuiet ? LongestSpin : LongestBusySpin;
        long began = Stopwatch.GetTimestamp();
        while (!wait.TryEnd(isTold: false))
        {
            if (_poller.IsCrowded || Stopwatch.GetElapsedTime(began) > longest)
            {
                wait.AskOrFail();
                return false;
            }

            Thread.Yield();
        }

        return true;
    }
}
