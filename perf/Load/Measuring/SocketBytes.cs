using System.Globalization;
using EQueue.Load.Limit;

namespace EQueue.Load.Measuring;

/// <summary>
/// Bytes that the TCP connections which this process has now have carried since they were opened, as the system counts
/// them: with frames, record batches and whatever was sent twice by the client, without the headers of TCP and IP.
/// </summary>
/// <param name="Sent">Bytes that the peers have acknowledged.</param>
/// <param name="Received">Bytes that came.</param>
internal readonly record struct SocketBytes(long Sent, long Received)
{
    /// <summary>Counts; null where the system does not say.</summary>
    public static SocketBytes? Take()
    {
        const string folder = "/proc/self/fd";
        if (!OperatingSystem.IsLinux() || !Directory.Exists(folder))
            return null;
        long sent = 0, received = 0;
        foreach (string entry in Directory.EnumerateFileSystemEntries(folder))
        {
            if (int.TryParse(Path.GetFileName(entry), CultureInfo.InvariantCulture, out int descriptor)
                && LinuxCalls.TryReadTcpBytes(descriptor, out long sentHere, out long receivedHere))
            {
                sent += sentHere;
                received += receivedHere;
            }
        }

        return new SocketBytes(sent, received);
    }
}
