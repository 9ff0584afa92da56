using System.Buffers.Binary;
using System.ComponentModel;
using System.Runtime.InteropServices;

namespace EQueue.Load.Limit;

/// <summary>The system calls of the yardsticks that the BCL does not offer.</summary>
internal static partial class LinuxCalls
{
    /// <summary>Ends a process at once.</summary>
    public const int SignalKill = 9;

    /// <summary>Asks a process to end.</summary>
    public const int SignalTerm = 15;

    /// <summary>Lets a paused process run on.</summary>
    public const int SignalContinue = 18;

    /// <summary>Pauses a process.</summary>
    public const int SignalStop = 19;

    private const int TimerSlackOption = 29;
    private const int Interrupted = 4;
    private const int AdviseDontNeed = 4;
    private const int TcpLevel = 6;
    private const int TcpFacts = 11;

    /// <summary>Where bytes acknowledged (u64), and behind them those received, stand in <c>tcp_info</c>.</summary>
    private const int AckedOffset = 120;

    /// <summary>
    /// Sends <paramref name="count"/> bytes of the file at <paramref name="offset"/>; moves the offset on.
    /// </summary>
    public static void SendFile(SafeHandle socket, SafeHandle file, ref long offset, long count)
    {
        long end = offset + count;
        while (offset < end)
        {
            if (SendFileOnce(socket, file, ref offset, (nuint)(end - offset)) <= 0)
                ThrowUnlessInterrupted("sendfile");
        }
    }

    public static void FlushToDisk(SafeHandle file)
    {
        while (FlushOnce(file) != 0)
            ThrowUnlessInterrupted("fdatasync");
    }

    /// <summary>Reserves room on the disk for a part of a file, as the store does for its segments.</summary>
    public static void Preallocate(SafeHandle file, long offset, long length)
    {
        while (AllocateOnce(file, 0, offset, length) != 0)
            ThrowUnlessInterrupted("fallocate");
    }

    /// <summary>Lets the page cache go of a part of a file: of its clean pages, that is.</summary>
    /// <param name="length">0: up to the end of the file.</param>
    public static void DropFromCache(SafeHandle file, long offset, long length) =>
        _ = Advise(file, offset, length, AdviseDontNeed);

    /// <summary>Sends a signal to a process.</summary>
    public static void Signal(int processId, int signal)
    {
        if (SendSignal(processId, signal) != 0)
            throw new Win32Exception();
    }

    /// <summary>Lets this thread's timed waits end within a microsecond or so of their time, not 50 later.</summary>
    public static void SharpenTimer()
    {
        if (OperatingSystem.IsLinux() && SetProcessOption(TimerSlackOption, 1, 0, 0, 0) != 0)
            throw new Win32Exception();
    }

    /// <summary>
    /// Blocks this thread for about that long, without the millisecond steps of <see cref="Thread.Sleep(int)"/>.
    /// </summary>
    public static void Wait(long durationNs)
    {
        if (!OperatingSystem.IsLinux())
        {
            Thread.Sleep(durationNs > 2_000_000 ? (int)(durationNs / 1_000_000) - 1 : 0);
            return;
        }

        // Cut short by a signal is as good: the caller looks at the clock.
        var duration = new TimeSpec(durationNs / 1_000_000_000, durationNs % 1_000_000_000);
        _ = Sleep(in duration, 0);
    }

    /// <summary>Bytes that a TCP socket has carried; false for any other file.</summary>
    public static bool TryReadTcpBytes(int descriptor, out long sent, out long received)
    {
        Span<byte> facts = stackalloc byte[AckedOffset + (2 * sizeof(long))];
        int size = facts.Length;
        bool isTold = ReadSocketOption(descriptor, TcpLevel, TcpFacts, facts, ref size) == 0 && size == facts.Length;
        sent = isTold ? BinaryPrimitives.ReadInt64LittleEndian(facts[AckedOffset..]) : 0;
        received = isTold ? BinaryPrimitives.ReadInt64LittleEndian(facts[(AckedOffset + sizeof(long))..]) : 0;
        return isTold;
    }

    private static void ThrowUnlessInterrupted(string call)
    {
        int error = Marshal.GetLastPInvokeError();
        if (error != Interrupted)
            throw new IOException($"{call}: {Marshal.GetPInvokeErrorMessage(error)}", error);
    }

    [LibraryImport("libc", EntryPoint = "sendfile", SetLastError = true)]
    private static partial nint SendFileOnce(SafeHandle socket, SafeHandle file, ref long offset, nuint count);

    [LibraryImport("libc", EntryPoint = "fdatasync", SetLastError = true)]
    private static partial int FlushOnce(SafeHandle file);

    [LibraryImport("libc", EntryPoint = "fallocate", SetLastError = true)]
    private static partial int AllocateOnce(SafeHandle file, int mode, long offset, long length);

    [LibraryImport("libc", EntryPoint = "posix_fadvise")]
    private static partial int Advise(SafeHandle file, long offset, long length, int advice);

    [LibraryImport("libc", EntryPoint = "prctl", SetLastError = true)]
    private static partial int SetProcessOption(int option, nuint value, nuint unused3, nuint unused4, nuint unused5);

    [LibraryImport("libc", EntryPoint = "kill", SetLastError = true)]
    private static partial int SendSignal(int processId, int signal);

    [LibraryImport("libc", EntryPoint = "getsockopt")]
    private static partial int ReadSocketOption(int socket, int level, int option, Span<byte> value, ref int size);

    [LibraryImport("libc", EntryPoint = "nanosleep")]
    private static partial int Sleep(in TimeSpec duration, nint remaining);

    [StructLayout(LayoutKind.Sequential)]
    private readonly record struct TimeSpec(long Seconds, long Nanoseconds);
}
