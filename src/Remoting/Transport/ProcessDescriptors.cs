using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>The descriptors of this process: each connection and each open file takes one. Linux alone; elsewhere the
/// memory is the limit.</summary>
public static partial class ProcessDescriptors
{
    /// <summary>RLIMIT_NOFILE of getrlimit(2).</summary>
    private const int DescriptorLimit = 7;

    /// <summary>Raises the limit as far as the process may by itself.</summary>
    /// <returns>How many it may have; null when there is no such limit.</returns>
    public static long? RaiseLimit()
    {
        if (!OperatingSystem.IsLinux() || !Environment.Is64BitProcess)
            return null;
        if (GetLimit(DescriptorLimit, out Limit limit) != 0)
            return null;
        if (limit.Soft < limit.Hard)
        {
            var raised = new Limit { Soft = limit.Hard, Hard = limit.Hard };
            if (SetLimit(DescriptorLimit, in raised) == 0)
                limit = raised;
        }

        return (long)Math.Min(limit.Soft, long.MaxValue);
    }

    /// <summary>How many it has; 0 when the system does not say.</summary>
    public static int Taken()
    {
        try
        {
            return Directory.GetFileSystemEntries("/proc/self/fd").Length;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Another system, or a sandbox without /proc.
            return 0;
        }
    }

    [LibraryImport("libc", EntryPoint = "getrlimit")]
    private static partial int GetLimit(int resource, out Limit limit);

    [LibraryImport("libc", EntryPoint = "setrlimit")]
    private static partial int SetLimit(int resource, in Limit limit);

    [StructLayout(LayoutKind.Sequential)]
    private struct Limit
    {
        public ulong Soft;
        public ulong Hard;
    }
}
