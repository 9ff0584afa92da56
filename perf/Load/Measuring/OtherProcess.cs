using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;

namespace EQueue.Load.Measuring;

/// <summary>What Linux tells about a process that is not this one, in /proc.</summary>
internal static class OtherProcess
{
    /// <summary>Memory that it holds; null where the system does not say, or the process is gone.</summary>
    public static long? ReadResidentBytes(int processId) =>
        ReadNumber($"/proc/{processId}/smaps_rollup", "Rss:") * 1024
        ?? ReadNumber($"/proc/{processId}/status", "VmRSS:") * 1024;

    /// <summary>Bytes that it has made the system write to a disk since its start; null as above.</summary>
    public static long? ReadDiskWriteBytes(int processId) => ReadNumber($"/proc/{processId}/io", "write_bytes:");

    /// <summary>Seconds of processor time that it has used, all cores together; null as above.</summary>
    public static double? ReadCpuSeconds(int processId)
    {
        try
        {
            using var process = Process.GetProcessById(processId);
            return process.TotalProcessorTime.TotalSeconds;
        }
        catch (Exception exception) when (exception is ArgumentException or InvalidOperationException or Win32Exception)
        {
            return null;
        }
    }

    /// <summary>Files and sockets that it may have open at a time; null as above, and without a bound.</summary>
    public static long? ReadMostDescriptors(int processId) =>
        ReadNumber($"/proc/{processId}/limits", "Max open files");

    private static long? ReadNumber(string file, string name)
    {
        try
        {
            if (!File.Exists(file))
                return null;
            string? line = File.ReadLines(file).FirstOrDefault(each => each.StartsWith(name, StringComparison.Ordinal));
            string? word = line?[name.Length..].Split([' ', '\t'], StringSplitOptions.RemoveEmptyEntries).FirstOrDefault();
            return long.TryParse(word, CultureInfo.InvariantCulture, out long number) ? number : null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
