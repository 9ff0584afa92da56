using System.Diagnostics;

namespace EQueue.Remoting;

/// <summary>One thread of the <see cref="SocketPoller"/>, and what it does for one socket after the other.</summary>
internal sealed class PollerThread
{
    /// <summary>What comes within this time is there sooner than this thread would be asleep and awake again.</summary>
    private static readonly TimeSpan LongestSpin = TimeSpan.FromMicroseconds(20);

    /// <summary>How long what is never done may keep this thread when others wait for it.</summary>
    private static readonly TimeSpan LongestTurn = TimeSpan.FromMilliseconds(1);

    [ThreadStatic]
    private static PollerThread? _ofThread;

    private readonly SocketPoller _poller;
    private PolledSocket? _socket;
    private SocketWait? _deferred;
    private long _began;

    /// <param name="poller">Whose it is.</param>
    /// <param name="patienceMs">How long it stays without work; -1 = for ever.</param>
    public PollerThread(SocketPoller poller, int patienceMs)
    {
        _poller = poller;
        PatienceMs = patienceMs;
    }

    /// <summary>Whether the calling thread is a poller's.</summary>
    public static bool IsCurrent => _ofThread is not null;

    /// <summary>How long it stays without work; -1 = for ever.</summary>
    public int PatienceMs { get; }

    /// <summary>Whether the calling thread is the poller's, has been at one socket for long, and every other one is at
    /// work as well: then what is there is to be waited for, behind the others.</summary>
    public static bool MustGiveWay => _ofThread is { } thread && thread._poller.IsCrowded
        && Stopwatch.GetElapsedTime(thread._began) > LongestTurn;

    /// <summary>Puts off a wait for the socket that the calling thread is at until everything else is done for
    /// it.</summary>
    /// <returns>False when the thread is not at that socket, and may be kept from coming back.</returns>
    public static bool TryDefer(PolledSocket socket, SocketWait wait)
    {
        if (_ofThread is not { } thread || thread._socket != socket || MustGiveWay) return false;
        thread._deferred = wait;
        return true;
    }

    /// <summary>Takes back a wait that the calling thread has put off.</summary>
    /// <returns>False when it has not: somebody else will end it.</returns>
    public static bool TryTakeBack(SocketWait wait)
    {
        if (_ofThread is not { } thread || thread._deferred != wait) return false;
        thread._deferred = null;
        return true;
    }

    /// <summary>The calling thread is this one from now on.</summary>
    public void Claim() => _ofThread = this;

    /// <summary>Whether it has been at one socket for so long.</summary>
    public bool IsAtTurnFor(TimeSpan time) =>
        Volatile.Read(ref _began) is var began and not 0 && Stopwatch.GetElapsedTime(began) > time;

    /// <summary>Goes on with what waits for these events of a socket, and with all that follows from it.</summary>
    public void GoOn(PolledSocket socket, uint events)
    {
        Volatile.Write(ref _began, Stopwatch.GetTimestamp());
        _socket = socket;
        socket.GoOn(events);
        while (_deferred is { } wait)
        {
            _deferred = null;
            GoOnSoon(wait);
        }

        _socket = null;
        Volatile.Write(ref _began, 0);
    }

    /// <summary>Looks for what is awaited a moment before the system is asked to tell.</summary>
    private void GoOnSoon(SocketWait wait)
    {
        long began = Stopwatch.GetTimestamp();
        while (!wait.TryEnd(isTold: false))
        {
            if (_poller.IsCrowded || Stopwatch.GetElapsedTime(began) > LongestSpin)
            {
                wait.AskOrFail();
                return;
            }

            Thread.Yield();
        }
    }
}
