using System.Globalization;
using System.Net;
using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>The table of sockets as text, proc_pid_net(5): for systems that do not answer over netlink.</summary>
/// <remarks>Reads lines until it is there: the time it takes grows with the connections of the machine.</remarks>
/// <param name="directory">Where tcp and tcp6 are.</param>
internal sealed class SocketTableFile(string directory = "/proc/net") : ISocketTable
{
    private const int StateAt = 3;
    private const int UserAt = 7;
    private const int InodeAt = 9;

    public uint? FindUser(ConnectionEnds ends) => ends.IsV4
        ? Find("tcp", ends, ends.Far, ends.Near) ?? Find("tcp6", ends, ends.Far.MapToIPv6(), ends.Near.MapToIPv6())
        : Find("tcp6", ends, ends.Far, ends.Near);

    private uint? Find(string file, ConnectionEnds ends, IPAddress far, IPAddress near)
    {
        string wanted = $": {Text(far, ends.FarPort)} {Text(near, ends.NearPort)} ";
        try
        {
            foreach (string line in File.ReadLines(Path.Combine(directory, file)))
            {
                if (line.Contains(wanted, StringComparison.Ordinal) && ReadUser(line) is { } user)
                    return user;
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // A sandbox without /proc, or a machine without IPv6.
        }

        return null;
    }

    private static uint? ReadUser(string line)
    {
        string[] parts = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        return parts.Length > InodeAt
            && uint.TryParse(parts[StateAt], NumberStyles.HexNumber, CultureInfo.InvariantCulture, out uint state)
            && uint.TryParse(parts[UserAt], CultureInfo.InvariantCulture, out uint user)
            && ulong.TryParse(parts[InodeAt], CultureInfo.InvariantCulture, out ulong inode)
            && TcpState.IsHeld(state, inode)
                ? user
                : null;
    }

    /// <summary>An end as the table has it: the address in words of the machine's order, the port.</summary>
    private static string Text(IPAddress address, ushort port)
    {
        Span<byte> bytes = stackalloc byte[16];
        address.TryWriteBytes(bytes, out int count);
        var text = new System.Text.StringBuilder();
        foreach (uint word in MemoryMarshal.Cast<byte, uint>(bytes[..count]))
            text.Append(CultureInfo.InvariantCulture, $"{word:X8}");
        return text.Append(CultureInfo.InvariantCulture, $":{port:X4}").ToString();
    }
}
