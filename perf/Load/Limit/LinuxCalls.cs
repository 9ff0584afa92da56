using System.ComponentModel;
using System.Runtime.InteropServices;

namespace EQueue.Load.Limit;

/// <summary>The system calls of the yardsticks that the BCL does not offer.</summary>
internal static partial class LinuxCalls
{
    private const int TimerSlackOption = 29;
    private const int Interrupted = 4;

    /// <summary>Sends <paramref name="count"/> bytes of the file at <paramref name="offset"/>; moves the offset on.</summary>
    public static void SendFile(SafeHandle socket, SafeHandle file, ref long offset, long count)
    {
        var end = offset + count;
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

    /// <summary>Lets this thread's timed waits end within a microsecond or so of their time, not 50 later.</summary>
    public static void SharpenTimer()
    {
        if (OperatingSystem.IsLinux() && SetProcessOption(TimerSlackOption, 1, 0, 0, 0) != 0)
            throw new Win32Exception();
    }

    private static void ThrowUnlessInterrupted(string call)
    {
        var error = Marshal.GetLastPInvokeError();
        if (error != Interrupted)
            throw new IOException($"{call}: {Marshal.GetPInvokeErrorMessage(error)}", error);
    }

    [LibraryImport("libc", EntryPoint = "sendfile", SetLastError = true)]
    private static partial nint SendFileOnce(SafeHandle socket, SafeHandle file, ref long offset, nuint count);

    [LibraryImport("libc", EntryPoint = "fdatasync", SetLastError = true)]
    private static partial int FlushOnce(SafeHandle file);

    [LibraryImport("libc", EntryPoint = "prctl", SetLastError = true)]
    private static partial int SetProcessOption(int option, nuint value, nuint unused3, nuint unused4, nuint unused5);
}
