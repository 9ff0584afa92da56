using System.Buffers;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Support;
using EQueue.Support.Logins;
using EQueue.System.Tests.Bounds;

namespace EQueue.System.Tests;

/// <summary>What a storm of logins costs a server, and those who are connected: a long run that prints its figures.
/// Broker.Tests holds the bound.</summary>
public sealed class LoginStormTests(ITestOutputHelper output)
{
    private const int LoginsPerSecond = 1_000;

    private static readonly TimeSpan MostOfALogin = TimeSpan.FromMilliseconds(10);

    [Theory]
    [InlineData("right passwords", 4_096, "alice's", Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData("right passwords", ScramSecret.DefaultIterations, "alice's")]
    [InlineData("wrong passwords", ScramSecret.DefaultIterations, "wrong")]
    public async Task GivenAStormOfLogins_WhenMessagesGoThrough_ThenItsCostIsTold(
        string what, int iterations, string password)
    {
        int seconds = LongRun.Length("EQUEUE_LOGIN_SECONDS", 1, 10);
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await AddUserAsync(server.Address, ScramSecret.Create("alice's", iterations));
        (string quiet, TimeSpan idle, _) = await MeasureAsync(server, seconds, null);
        (string stormy, TimeSpan busy, int logins) = await MeasureAsync(
            server, seconds, () => LoginStorm.RunAsync(
                IPEndPoint.Parse(server.Address), [new StormLogin("alice", password)], LoginsPerSecond,
                TimeSpan.FromSeconds(seconds)));
        output.WriteLine($"{what}, {iterations} iterations\n  without: {quiet}, server's CPU {idle}");
        output.WriteLine($"  storm:   {stormy}, server's CPU {busy}");
        Assert.True(logins >= 100, $"{logins}");
        Assert.True(busy - idle < logins * MostOfALogin, $"{logins} logins took {busy - idle} of the server's CPU");
    }

    private static async Task<(string Figures, TimeSpan Processor, int Logins)> MeasureAsync(
        ServerProcess server, int seconds, Func<Task<IReadOnlyDictionary<ErrorCode, int>>>? storm)
    {
        await using var honest = new HonestPair(server.Address);
        await Eventually.TrueAsync(() => honest.Received > 10);
        TimeSpan before = ProcessorTimeOf(server.ProcessId);
        IReadOnlyDictionary<ErrorCode, int> answers = new Dictionary<ErrorCode, int>();
        if (storm is null)
            await Eventually.PassedAsync(TimeSpan.FromSeconds(seconds));
        else
            answers = await storm();
        TimeSpan used = ProcessorTimeOf(server.ProcessId) - before;
        await honest.StopSendingAsync();
        await Eventually.TrueAsync(() => honest.Received == honest.Sent);
        Assert.Null(honest.Fault);
        return (
            $"{honest.Sent} messages, p50 {honest.PercentileMs(0.5):F1} ms, p99 {honest.PercentileMs(0.99):F1} ms, "
                + string.Join(' ', answers.Select(static one => $"{one.Key}: {one.Value}")),
            used,
            answers.Values.Sum());
    }

    /// <summary>The client library's users have the usual iterations.</summary>
    private static async Task AddUserAsync(string address, ScramSecret secret)
    {
        var body = new ArrayBufferWriter<byte>();
        new SetUserRequest("alice", secret, null, null, true).Write(new PayloadWriter(body));
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(IPEndPoint.Parse(address));
        await socket.SendAsync(
            (byte[])[.. BoundPeer.Hello("owner"), .. BoundPeer.Frame(Opcode.SetUser, body.WrittenSpan)]);
        await using var client = new EQueueClient(address);
        await Eventually.TrueAsync(async () => await client.Admin.ListUsersAsync().AnyAsync());
    }

    private static TimeSpan ProcessorTimeOf(int processId)
    {
        using var process = Process.GetProcessById(processId);
        return process.TotalProcessorTime;
    }
}
