using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace EQueue.Remoting;

/// <summary>Linux's epoll(7) and send(2), with the numbers of x64 and arm64.</summary>
internal static unsafe partial class EpollCalls
{
    public const int Add = 1;
    public const int Delete = 2;
    public const int Modify = 3;

    public const uint In = 0x1;
    public const uint Out = 0x4;

    /// <summary>EPOLLERR and EPOLLHUP: told without being asked for.</summary>
    public const uint Broken = 0x8 | 0x10;

    /// <summary>EPOLLONESHOT: once told, nothing more until it is asked for again.</summary>
    public const uint Once = 1u << 30;

    public const int Interrupted = 4;
    public const int WouldBlock = 11;

    private const int CloseOnExec = 0x80000;
    private const int DoNotWait = 0x40;
    private const int NoSignal = 0x4000;

    /// <summary>The kernel's epoll_event is packed on x86 alone.</summary>
    private static readonly int DataOffset =
        RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.X86 ? 4 : 8;

    /// <returns>A descriptor, or -1.</returns>
    public static int Create() => EpollCreate(CloseOnExec);

    /// <summary>Frees a descriptor without waiters.</summary>
    public static void Close(int epoll)
    {
        using var closing = new SafeFileHandle(epoll, ownsHandle: true);
    }

    /// <returns>0, or the error number.</returns>
    public static int Control(int epoll, int operation, SafeHandle socket, uint events, ulong data)
    {
        byte* entry = stackalloc byte[16];
        Unsafe.WriteUnaligned(entry, events);
        Unsafe.WriteUnaligned(entry + DataOffset, data);
        return EpollControl(epoll, operation, socket, entry) == 0 ? 0 : Marshal.GetLastPInvokeError();
    }

    /// <summary>Waits for one event.</summary>
    /// <param name="epoll">The descriptor.</param>
    /// <param name="timeoutMs">-1 = without end.</param>
    /// <param name="events">What there is.</param>
    /// <param name="data">What was given with the socket.</param>
    /// <returns>How many: 1; 0 when the time is over; less when a signal came.</returns>
    public static int Wait(int epoll, int timeoutMs, out uint events, out ulong data)
    {
        byte* entry = stackalloc byte[16];
        int count = EpollWait(epoll, entry, 1, timeoutMs);
        events = count == 1 ? Unsafe.ReadUnaligned<uint>(entry) : 0;
        data = count == 1 ? Unsafe.ReadUnaligned<ulong>(entry + DataOffset) : 0;
        return count;
    }

    /// <summary>Sends what there is room for.</summary>
    /// <returns>How many bytes, or the negative error number.</returns>
    public static int TrySend(SafeHandle socket, ReadOnlySpan<byte> bytes)
    {
        fixed (byte* first = bytes)
        {
            nint sent = Send(socket, first, (nuint)bytes.Length, DoNotWait | NoSignal);
            return sent >= 0 ? (int)sent : -Marshal.GetLastPInvokeError();
        }
    }

    /// <summary>The exception of an error number.</summary>
    public static SocketException Failure(int number) => new((int)(number switch
    {
        1 or 13 => SocketError.AccessDenied,
        9 => SocketError.OperationAborted,
        12 or 28 or 105 => SocketError.NoBufferSpaceAvailable,
        32 => SocketError.Shutdown,
        100 => SocketError.NetworkDown,
        101 => SocketError.NetworkUnreachable,
        103 => SocketError.ConnectionAborted,
        104 => SocketError.ConnectionReset,
        107 => SocketError.NotConnected,
        110 => SocketError.TimedOut,
        113 => SocketError.HostUnreachable,
        _ => SocketError.SocketError,
    }));

    [LibraryImport("libc", EntryPoint = "epoll_create1", SetLastError = true)]
    private static partial int EpollCreate(int flags);

    [LibraryImport("libc", EntryPoint = "epoll_ctl", SetLastError = true)]
    private static partial int EpollControl(int epoll, int operation, SafeHandle socket, byte* entry);

    [LibraryImport("libc", EntryPoint = "epoll_wait", SetLastError = true)]
    private static partial int EpollWait(int epoll, byte* entries, int count, int timeoutMs);

    [LibraryImport("libc", EntryPoint = "send", SetLastError = true)]
    private static partial nint Send(SafeHandle socket, byte* bytes, nuint length, int flags);
}
