using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Whose a connection within this machine is: what the kernel's tables say, and what is not believed.</summary>
public sealed class LoopbackPeerTests : IDisposable
{
    private readonly TempDirectory _directory = new();

    public LoopbackPeerTests() => Assert.SkipUnless(OperatingSystem.IsLinux(), "Linux alone tells users of sockets.");

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenConnections_WhenEitherTableIsAsked_ThenItKnowsThoseThatAreThereAndNoOthers(bool isNetlink)
    {
        ISocketTable table = isNetlink ? new SocketDiagnosis() : new SocketTableFile();
        foreach (string address in (string[])["127.0.0.1", "::1", "::ffff:127.0.0.1"])
        {
            using SocketPairOf pair = await SocketPairOf.ConnectAsync(IPAddress.Parse(address));
            var ends = ConnectionEnds.Of(pair.Near, pair.Far);
            Assert.Equal(UserIds.Own, table.FindUser(ends));
            Assert.Null(table.FindUser(ends with { FarPort = 1 }));
            Assert.Null(table.FindUser(ends with { NearPort = 1 }));
            using SocketPairOf other = await SocketPairOf.ConnectAsync(IPAddress.Parse(address));
            Assert.Null(table.FindUser(ends with { FarPort = (ushort)other.Far.Port }));
            pair.CloseFar();
            Assert.Null(table.FindUser(ends));
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void GivenListenerAtThePeersPort_WhenItsUserIsAsked_ThenItIsNotTakenForThePeer(bool isNetlink)
    {
        ISocketTable table = isNetlink ? new SocketDiagnosis() : new SocketTableFile();
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var near = new IPEndPoint(IPAddress.Loopback, 9);
        Assert.Null(table.FindUser(ConnectionEnds.Of(near, (IPEndPoint)listener.LocalEndpoint)));
        Assert.Null(LoopbackPeer.FindUser(near, (IPEndPoint)listener.LocalEndpoint));
    }

    [Fact]
    public async Task GivenAThousandLookUps_WhenTimed_ThenTheyTakeLessThanASecond()
    {
        using SocketPairOf pair = await SocketPairOf.ConnectAsync(IPAddress.Loopback);
        Assert.NotNull(LoopbackPeer.FindUser(pair.Near, pair.Far));
        long started = Stopwatch.GetTimestamp();
        for (int i = 0; i < 1_000; i++)
            Assert.NotNull(LoopbackPeer.FindUser(pair.Near, pair.Far));
        TimeSpan took = Stopwatch.GetElapsedTime(started);
        TestContext.Current.SendDiagnosticMessage("{0} us each", took.TotalMicroseconds / 1_000);
        Assert.True(took < TimeSpan.FromSeconds(1), $"{took}");
    }

    [Fact]
    public async Task GivenManyThreads_WhenAllAsk_ThenEachHasItsOwnAnswer()
    {
        using SocketPairOf pair = await SocketPairOf.ConnectAsync(IPAddress.Loopback);
        var nothing = new IPEndPoint(IPAddress.Loopback, 1);
        Parallel.For(0, 2_000, i => Assert.Equal(
            i % 2 == 0 ? LoopbackPeer.OwnUser : null, LoopbackPeer.FindUser(pair.Near, i % 2 == 0 ? pair.Far : nothing)));
    }

    [Fact]
    public void GivenAddressesBeyondLoopback_WhenAsked_ThenNothingIsKnown()
    {
        var near = new IPEndPoint(IPAddress.Loopback, 1);
        var far = new IPEndPoint(IPAddress.Parse("192.0.2.1"), 1);
        Assert.Null(LoopbackPeer.FindUser(near, far));
        Assert.Null(LoopbackPeer.FindUser(far, near));
    }

    [Theory]
    [InlineData("01", "55", 7u)]
    [InlineData("04", "55", 7u)]
    [InlineData("05", "55", 7u)]
    [InlineData("08", "55", 7u)]
    [InlineData("01", "0", null)]
    [InlineData("02", "55", null)]
    [InlineData("03", "55", null)]
    [InlineData("06", "55", null)]
    [InlineData("0A", "55", null)]
    public void GivenLinesOfTheTable_WhenRead_ThenOnlyEndsThatAProcessHoldsCount(
        string state, string inode, uint? expected)
    {
        const string Rest = "00000000:00000000 00:00000000 00000000";
        File.WriteAllText(_directory["tcp"], $"""
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:1F90 0100007F:C001 01 {Rest}     0        0 1 1 0000000000000000 20 4 30 10 -1
               1: 0100007F:C001 0100007F:1F90 {state} {Rest}     7        0 {inode} 1 0000000000000000 20 4 30 10 -1
            """);
        Assert.SkipUnless(BitConverter.IsLittleEndian, "The lines are those of a little-endian machine.");
        var table = new SocketTableFile(_directory.FullPath);
        var ends = new ConnectionEnds(IPAddress.Loopback, 0xC001, IPAddress.Loopback, 0x1F90);
        Assert.Equal(expected, table.FindUser(ends));
    }

    [Theory]
    [InlineData("         0          0 4294967295\n", null)]
    [InlineData("         0       1000          1\n", 65534u)]
    [InlineData("0 1000 1\n1 100000 65536\n", 65534u)]
    public void GivenUserNamespace_WhenItDoesNotKnowAllUsers_ThenTheNumberOfTheOthersIsNotBelieved(
        string map, uint? expected) =>
        Assert.Equal(expected, UserIds.SharedNumberOf(map, "65534\n"));

    public void Dispose() => _directory.Dispose();

    /// <summary>Both ends of a connection, in this process.</summary>
    private sealed class SocketPairOf(Socket far, Socket near) : IDisposable
    {
        public IPEndPoint Near => (IPEndPoint)near.LocalEndPoint!;

        public IPEndPoint Far { get; } = (IPEndPoint)near.RemoteEndPoint!;

        public static async Task<SocketPairOf> ConnectAsync(IPAddress address)
        {
            bool isV6 = address.AddressFamily == AddressFamily.InterNetworkV6;
            using var listener = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            if (isV6)
                listener.DualMode = true;
            listener.Bind(new IPEndPoint(address, 0));
            listener.Listen();
            var far = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            if (isV6)
                far.DualMode = true;
            await far.ConnectAsync(listener.LocalEndPoint!);
            return new SocketPairOf(far, await listener.AcceptAsync());
        }

        public void CloseFar() => far.Dispose();

        public void Dispose()
        {
            far.Dispose();
            near.Dispose();
        }
    }
}
