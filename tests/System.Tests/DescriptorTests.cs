using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A server that has few descriptors, or none left.</summary>
public sealed partial class DescriptorTests
{
    private const string Topic = "orders";

    private static readonly string[] SmallSegments =
        ["--Store:SegmentSizeBytes", $"{1 << 20}", "--Limits:MaxMessageBytes", $"{64 << 10}"];

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(820)]
    [InlineData(1_000)]
    public async Task GivenAThousandDescriptorsAndManyBareConnections_WhenMessagesAreSent_ThenTheStoreWritesOn(
        int connections)
    {
        if (!OperatingSystem.IsLinux())
            return;
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartWithDescriptorsAsync(
            directory["data"], 1024, SmallSegments);
        await using var client = new EQueueClient(server.Address);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync(Topic, "first"u8.ToArray(), cancellationToken: Token);

        var bare = new List<Socket>();
        try
        {
            for (int i = 0; i < connections; i++)
            {
                var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                bare.Add(socket);
                await socket.ConnectAsync(IPEndPoint.Parse(server.Address), Token);
            }

            // Eight segments and more.
            await SendAsync(producer, 200);

            // Who comes new gets in: it says Hello, they do not.
            await using var late = new EQueueClient(server.Address);
            await using Producer other = late.CreateProducer();
            await other.SendAsync(Topic, "late"u8.ToArray(), cancellationToken: Token);
        }
        finally
        {
            foreach (Socket socket in bare)
                socket.Dispose();
        }

        Assert.Equal(0, await server.StopAsync());
        Assert.Contains("Limits:MaxConnections is lowered from 18000 to ", server.Error, StringComparison.Ordinal);
        Assert.Contains("LimitNOFILE", server.Error, StringComparison.Ordinal);
    }

    [Fact]
    [Follows("(ulimit -n, LimitNOFILE of a service)")]
    public async Task GivenConnectionsThatAreLowered_WhenTheLimitIsRaisedAsTheWarningSays_ThenAllAreThere()
    {
        if (!OperatingSystem.IsLinux())
            return;
        using var directory = new TempDirectory();
        string[] connections = ["--Limits:MaxConnections", "700"];
        int needed;
        await using (ServerProcess few = await ServerProcess.StartWithDescriptorsAsync(directory["data"], 1024, connections))
        {
            Match told = Lowered().Match(few.Error);
            Assert.True(told.Success, few.Error);
            Assert.Equal("1024", told.Groups["has"].Value);
            needed = told.Groups.Values.Where(static group => group.Name is "wanted" or "taken" or "kept")
                .Sum(static group => int.Parse(group.Value, CultureInfo.InvariantCulture));
            Assert.InRange(needed, 1025, 2048);
            Assert.Equal(0, await few.StopAsync());
        }

        // How many are taken differs by a few from start to start.
        await using ServerProcess enough = await ServerProcess.StartWithDescriptorsAsync(
            directory["data"], needed + 64, connections);
        Assert.DoesNotContain("is lowered", enough.Error, StringComparison.Ordinal);
        Assert.Equal(0, await enough.StopAsync());
    }

    [Fact]
    public async Task GivenNoDescriptorLeft_WhenTheNextSegmentIsNeeded_ThenSendsWaitUntilThereIsOneAndNothingIsLost()
    {
        if (!OperatingSystem.IsLinux())
            return;
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], SmallSegments);
        await using var client = new EQueueClient(server.Address);
        await using Producer producer = client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromMinutes(2) });
        await producer.SendAsync(Topic, "first"u8.ToArray(), cancellationToken: Token);

        LimitDescriptors(server, 3);
        Task sending = SendAsync(producer, 200);
        await Eventually.TrueAsync(() => server.Error.Contains("no descriptor or no memory", StringComparison.Ordinal));

        // It cannot accept either: it waits, and does not spin.
        using var refused = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await refused.ConnectAsync(IPEndPoint.Parse(server.Address), Token);
        Assert.False(sending.IsCompleted);

        LimitDescriptors(server, 4096);
        await sending.WaitAsync(TimeSpan.FromMinutes(1), Token);
        await using var late = new EQueueClient(server.Address);
        await using Producer other = late.CreateProducer();
        await other.SendAsync(Topic, "late"u8.ToArray(), cancellationToken: Token);
        Assert.Equal(0, await server.StopAsync());
        Assert.Contains("the shortage is over", server.Error, StringComparison.Ordinal);
    }

    [GeneratedRegex("is lowered from (?<wanted>[0-9]+) to [0-9]+: the process may have (?<has>[0-9]+) descriptors "
        + @"\(ulimit -n, LimitNOFILE of a service\), (?<taken>[0-9]+) are taken and (?<kept>[0-9]+) kept")]
    private static partial Regex Lowered();

    /// <summary>Messages of 50 KB, each acknowledged.</summary>
    private static async Task SendAsync(Producer producer, int count)
    {
        byte[] body = new byte[50_000];
        for (int i = 0; i < count; i++)
            await producer.SendAsync(Topic, body, cancellationToken: Token);
    }

    /// <summary>Sets how many descriptors the running server may have; those that it has beyond stay.</summary>
    private static void LimitDescriptors(ServerProcess server, int descriptors)
    {
        using var limit = Process.Start(
            "prlimit", [$"--pid={server.ProcessId}", $"--nofile={descriptors}:"]);
        limit.WaitForExit();
        Assert.Equal(0, limit.ExitCode);
    }
}
