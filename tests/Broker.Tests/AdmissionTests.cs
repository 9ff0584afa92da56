using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>What a peer may do before its Hello, and what the broker keeps of it.</summary>
public sealed class AdmissionTests
{
    [Theory]
    [InlineData(null)]
    [InlineData(500)]
    [EffectOf("Limits:HelloTimeout")]
    public async Task GivenPeersThatSendOnlyKeepAlives_WhenTheTimeForHelloIsOver_ThenTheyAreGone(int? setMs)
    {
        TimeSpan time = setMs is { } ms ? TimeSpan.FromMilliseconds(ms) : new LimitOptions().HelloTimeout;
        await using TestBroker broker = await TestBroker.StartAsync(
            WithLimits(limits => setMs is null ? limits : limits with { HelloTimeout = time }));
        await using TestPeer peer = await broker.ConnectAsync();
        RawConnection[] silent =
            await Task.WhenAll(Enumerable.Range(0, 300).Select(_ => RawConnection.ConnectAsync(broker.EndPoint)));
        byte[] ping = RawConnection.Frame(default, []);
        foreach (RawConnection one in silent)
            await one.SendAsync(ping);
        await Eventually.TrueAsync(async () => await peer.FigureAsync("broker.connections") == 1);
        foreach (RawConnection one in silent)
            Assert.Null(await one.ReceiveHeaderAsync());
        Assert.Single((await peer.InvokeAsync(new StatsRequest())).Figures, figure => figure.Name == "broker.connections");
        foreach (RawConnection one in silent)
            one.Dispose();
    }

    [Fact]
    public async Task GivenAHelloOfManyBytes_WhenSent_ThenItsConnectionIsClosedBeforeTheyCome()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        using RawConnection peer = await RawConnection.ConnectAsync(broker.EndPoint);
        byte[] hello = RawConnection.Frame(
            Opcode.Hello,
            TestPeer.Encode(TestPeer.NewHello("large") with { Credentials = new byte[65 << 10] }).WrittenSpan);
        await peer.SendAsync(hello[..100]);
        Assert.Null(await peer.ReceiveHeaderAsync());

        using RawConnection small = await RawConnection.ConnectAsync(broker.EndPoint);
        await small.SayHelloAsync();
    }

    [Fact]
    public void GivenWhatIsKeptOfAClient_WhenLookedAt_ThenThereAreNoCredentials()
    {
        // Not the request and no bytes of it: a mechanism adds what it found out, never what it was shown.
        Type[] kept = [.. typeof(BrokerConnection).GetProperties().Concat(typeof(ClientIdentity).GetProperties())
            .Select(property => property.PropertyType)];
        Assert.DoesNotContain(kept, type => type == typeof(HelloRequest)
            || type == typeof(ReadOnlyMemory<byte>) || type == typeof(byte[]));
    }

    [Fact]
    [EffectOf("Limits:MaxConnectionsPerAddress")]
    public async Task GivenABoundOfConnectionsOfOneAddress_WhenItHasThem_ThenOneMoreIsClosed()
    {
        await using TestBroker broker = await TestBroker.StartAsync(
            WithLimits(limits => limits with { MaxConnectionsPerAddress = 2 }));
        await using TestPeer first = await broker.ConnectAsync();
        await using TestPeer second = await broker.ConnectAsync();
        using RawConnection third = await RawConnection.ConnectAsync(broker.EndPoint);
        await Assert.ThrowsAnyAsync<Exception>(third.SayHelloAsync);
    }

    [Fact]
    [EffectOf("Limits:LocalConnections")]
    public async Task GivenAPeerElsewhereThatTakesAllItCan_WhenOneOnThisMachineConnects_ThenItHasAPlace()
    {
        IPAddress? elsewhere = NetworkInterface.GetAllNetworkInterfaces()
            .SelectMany(one => one.GetIPProperties().UnicastAddresses)
            .Select(one => one.Address)
            .FirstOrDefault(one => one.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(one));
        Assert.SkipWhen(elsewhere is null, "This machine has no address but loopback.");
        foreach ((int kept, int most) in new[] { (0, 5), (2, 4) })
        {
            BrokerOptions options = WithLimits(limits => limits with { MaxConnections = 9, LocalConnections = kept });
            await using TestBroker broker = await TestBroker.StartAsync(options with { Listen = "0.0.0.0:0" });
            var far = new IPEndPoint(elsewhere, ((IPEndPoint)broker.EndPoint).Port);
            var near = new IPEndPoint(IPAddress.Loopback, far.Port);
            var taken = new List<RawConnection>();
            bool isRefused = false;
            while (!isRefused)
            {
                RawConnection one = await RawConnection.ConnectAsync(far);
                taken.Add(one);
                isRefused = await Record.ExceptionAsync(one.SayHelloAsync) is not null;
            }

            Assert.Equal(most, taken.Count - 1);
            using RawConnection local = await RawConnection.ConnectAsync(near);
            await local.SayHelloAsync();
            foreach (RawConnection one in taken)
                one.Dispose();
        }
    }

    [Fact]
    [EffectOf("Limits:MinReceiveRate")]
    public async Task GivenHalfRequestsThatTakeAllReceiveMemory_WhenAnHonestOneComes_ThenItIsAnsweredSoon()
    {
        BrokerOptions options = WithLimits(limits => limits with { ReceiveBytes = 16 << 20, MinReceiveRate = 64 << 10 });
        await using TestBroker broker = await TestBroker.StartAsync(options);
        await using TestPeer peer = await broker.ConnectAsync();
        byte[] half = RawConnection.Frame(Opcode.Produce, new byte[4 << 20]);
        var hostile = new List<RawConnection>();
        for (int i = 0; i < 8; i++)
        {
            hostile.Add(await RawConnection.ConnectAsync(broker.EndPoint));
            await hostile[i].SayHelloAsync();
            _ = hostile[i].SendAsync(half[..^1]).ContinueWith(static sent => sent.Exception, TaskScheduler.Default);
        }

        await Eventually.TrueAsync(async () => await peer.FigureAsync("broker.receiveBytes") >= 12 << 20);

        // As large as they: it must have the memory of one of them.
        var large = FrameBuffer.Rent();
        large.Reserve(4 << 20).Clear();
        Assert.Equal(ErrorCode.MalformedRequest, await peer.RefusalAsync(Opcode.CreateTopic, large));
        foreach (RawConnection one in hostile)
            one.Dispose();
    }

    [Theory]
    [InlineData(18_000, 20_000, 200, 18_000)]
    [InlineData(18_000, 1_024, 180, 332)]
    [InlineData(100, 1_024, 180, 100)]
    [InlineData(18_000, 256, 180, 16)]
    public void GivenDescriptors_WhenTheBrokerStarts_ThenConnectionsLeaveTheStoreItsOwn(
        int wanted, long descriptors, int taken, int places) =>
        Assert.Equal(places, DescriptorPlan.PlacesOf(wanted, descriptors, taken));

    private static BrokerOptions WithLimits(Func<LimitOptions, LimitOptions> change)
    {
        BrokerOptions options = TestBroker.SmallOptions();
        return options with { Limits = change(options.Limits) };
    }
}
