using System.Buffers.Binary;
using System.Net;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace EQueue.Remoting;

/// <summary>The kernel's own answer about one socket, over netlink: sock_diag(7), include/uapi/linux/inet_diag.h.
/// Numbers are in the machine's order, ports and addresses in the network's.</summary>
/// <remarks>
/// <code>
/// request: nlmsghdr 16 | inet_diag_req_v2: family u8, protocol u8, ext u8, pad u8, states u32 | inet_diag_sockid 48
/// answer:  nlmsghdr 16 | inet_diag_msg: family u8, state u8, timer u8, retrans u8 | inet_diag_sockid 48
///          | expires u32, rqueue u32, wqueue u32, uid u32, inode u32
/// nlmsghdr: length u32, type u16, flags u16, sequence u32, port u32
/// inet_diag_sockid: sport u16, dport u16, src 16, dst 16, interface u32, cookie 8
/// </code>
/// One netlink socket for all, one request at a time; the kernel has answered when the send returns.
/// </remarks>
internal sealed unsafe partial class SocketDiagnosis : ISocketTable
{
    private const int Netlink = 16;
    private const int RawCloseOnExec = 3 | 0x80000;
    private const int SocketDiagnosisProtocol = 4;
    private const int DoNotWait = 0x40;
    private const ushort ByFamily = 20;
    private const ushort IsRequest = 1;
    private const byte V4 = 2;
    private const byte V6 = 10;
    private const byte Tcp = 6;
    private const int HeaderBytes = 16;
    private const int IdAt = 8;
    private const int IdBytes = 48;
    private const int RequestBytes = HeaderBytes + IdAt + IdBytes;
    private const int AddressBytes = 16;
    private const int SourceAt = 4;
    private const int DestinationAt = SourceAt + AddressBytes;
    private const int CookieAt = DestinationAt + AddressBytes + 4;
    private const int AnswerIdAt = HeaderBytes + 4;
    private const int UserAt = AnswerIdAt + IdBytes + 12;
    private const int InodeAt = UserAt + 4;
    private const int AnswerBytes = InodeAt + 4;
    private const int MostStale = 16;

    private readonly Lock _lock = new();
    private SafeFileHandle? _socket;
    private uint _sequence;

    public uint? FindUser(ConnectionEnds ends)
    {
        lock (_lock)
        {
            // A socket of either kind may be the end of an IPv4 connection. The kernel finds both under IPv4; one that
            // did not would find the other kind under IPv6.
            return ends.IsV4 ? Ask(ends, V4) ?? Ask(ends, V6) : Ask(ends, V6);
        }
    }

    private uint? Ask(ConnectionEnds ends, byte family)
    {
        Span<byte> request = stackalloc byte[RequestBytes];
        request.Clear();
        WriteRequest(request, ends, family);
        if (_socket is null && !TryOpen())
            return null;
        Span<byte> answer = stackalloc byte[512];
        int length = TryExchange(request, answer);
        if (length < 0)
        {
            _socket!.Dispose();
            _socket = null;
        }

        return length >= AnswerBytes && MemoryMarshal.Read<ushort>(answer[4..]) == ByFamily
            ? ReadUser(answer, ends)
            : null;
    }

    private void WriteRequest(Span<byte> request, ConnectionEnds ends, byte family)
    {
        MemoryMarshal.Write(request, RequestBytes);
        MemoryMarshal.Write(request[4..], ByFamily);
        MemoryMarshal.Write(request[6..], IsRequest);
        MemoryMarshal.Write(request[8..], ++_sequence);
        request[HeaderBytes] = family;
        request[HeaderBytes + 1] = Tcp;
        MemoryMarshal.Write(request[(HeaderBytes + 4)..], uint.MaxValue);
        Span<byte> id = request[(HeaderBytes + IdAt)..];
        BinaryPrimitives.WriteUInt16BigEndian(id, ends.FarPort);
        BinaryPrimitives.WriteUInt16BigEndian(id[2..], ends.NearPort);
        WriteAddress(id[SourceAt..], ends.Far, family);
        WriteAddress(id[DestinationAt..], ends.Near, family);
        MemoryMarshal.Write(id[CookieAt..], ulong.MaxValue);
    }

    private static void WriteAddress(Span<byte> room, IPAddress address, byte family) =>
        (family == V6 ? address.MapToIPv6() : address).TryWriteBytes(room, out _);

    /// <summary>What the kernel found: it may be another socket, such as one that listens at that port.</summary>
    private static uint? ReadUser(ReadOnlySpan<byte> answer, ConnectionEnds ends)
    {
        byte family = answer[HeaderBytes];
        ReadOnlySpan<byte> id = answer[AnswerIdAt..];
        bool isIt = family is V4 or V6
            && BinaryPrimitives.ReadUInt16BigEndian(id) == ends.FarPort
            && BinaryPrimitives.ReadUInt16BigEndian(id[2..]) == ends.NearPort
            && ReadAddress(id[SourceAt..], family).Equals(ends.Far)
            && ReadAddress(id[DestinationAt..], family).Equals(ends.Near)
            && TcpState.IsHeld(answer[HeaderBytes + 1], MemoryMarshal.Read<uint>(answer[InodeAt..]));
        return isIt ? MemoryMarshal.Read<uint>(answer[UserAt..]) : null;
    }

    private static IPAddress ReadAddress(ReadOnlySpan<byte> bytes, byte family) =>
        ConnectionEnds.Plain(new IPAddress(bytes[..(family == V4 ? 4 : AddressBytes)]));

    private bool TryOpen()
    {
        var socket = new SafeFileHandle(OpenSocket(Netlink, RawCloseOnExec, SocketDiagnosisProtocol), ownsHandle: true);
        if (socket.IsInvalid)
        {
            socket.Dispose();
            return false;
        }

        _socket = socket;
        return true;
    }

    /// <returns>How long the answer is; negative when the socket is not to be used again.</returns>
    private int TryExchange(ReadOnlySpan<byte> request, Span<byte> answer)
    {
        fixed (byte* sent = request, received = answer)
        {
            if (Send(_socket!, sent, (nuint)request.Length, DoNotWait) != request.Length)
                return -1;
            for (int stale = 0; stale < MostStale; stale++)
            {
                nint length = Receive(_socket!, received, (nuint)answer.Length, DoNotWait);
                if (length < HeaderBytes)
                    return -1;
                if (MemoryMarshal.Read<uint>(answer[8..]) == _sequence)
                    return (int)length;
            }

            return -1;
        }
    }

    [LibraryImport("libc", EntryPoint = "socket")]
    private static partial nint OpenSocket(int family, int kind, int protocol);

    [LibraryImport("libc", EntryPoint = "send")]
    private static partial nint Send(SafeHandle socket, byte* bytes, nuint length, int flags);

    [LibraryImport("libc", EntryPoint = "recv")]
    private static partial nint Receive(SafeHandle socket, byte* room, nuint length, int flags);
}
