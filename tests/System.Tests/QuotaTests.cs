using System.Diagnostics;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Clients that a server slows: by a quota, and at its bound of memory.</summary>
public sealed class QuotaTests
{
    private const int BodyBytes = 16 * 1024;
    private const int Messages = 100;
    private const long RateBytes = 256 * 1024;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAQuotaOfOneClient_WhenTheServerIsKilled_ThenItStillSlowsThatClientAndNobodyElse()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        ProgramResult set = await RunAsync(
            server, "quota", "set", "client", "slow", "--produce-rate", "256KiB", "--fetch-rate", "256KiB");
        Assert.True(set.ExitCode == 0, set.Error);
        await server.KillAsync();
        await server.RestartAsync();
        Assert.Equal("client\tslow\t262144\t262144\t0\n", (await RunAsync(server, "quota", "list")).OutputText);

        Task<TimeSpan> slowSend = SendAsync(server.Address, "slow", "held");
        Task<TimeSpan> quickSend = SendAsync(server.Address, "quick", "free");
        TimeSpan quick = await quickSend;
        TimeSpan slow = await slowSend;
        TimeSpan slowRead = await ReadAsync(server.Address, "slow", "held");
        TimeSpan quickRead = await ReadAsync(server.Address, "quick", "held");

        // A second's worth is free at the beginning; the debt of the last batches is nobody's wait.
        var least = TimeSpan.FromSeconds((((double)Messages * BodyBytes) / RateBytes) - 3);
        Assert.True(slow > least, $"sent in {slow}");
        Assert.True(slowRead > least, $"read in {slowRead}");
        Assert.True(quick < slow / 2, $"free {quick}, held {slow}");
        Assert.True(quickRead < slowRead / 2, $"free {quickRead}, held {slowRead}");
        await using var asking = new EQueueClient(server.Address);
        Assert.True((await asking.Admin.ReadFiguresAsync(Token)).Find("broker.throttledRequests") > 0);
        ProgramResult removed = await RunAsync(server, "quota", "remove", "client", "slow");
        Assert.True(removed.ExitCode == 0, removed.Error);
        Assert.True(await SendAsync(server.Address, "slow", "held") < slow / 2);
    }

    [Fact]
    [EffectOf("Limits:ReceiveBytes")]
    public async Task GivenLittleMemoryForReceiving_WhenManySendMuch_ThenTheyAreSlowedAndTheServerStaysUp()
    {
        const int Senders = 24;
        const int EachSends = 20;
        const int MostBytes = 1024 * 1024;
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--flush", "async", "--Limits:ReceiveBytes", $"{16 * MostBytes}",
            "--Limits:MaxMessageBytes", $"{MostBytes}");
        await using var asking = new EQueueClient(server.Address);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(Token);
        Task<long> watching = WatchAsync(asking, "broker.receiveBytes", ended.Token);

        await Task.WhenAll(Enumerable.Range(0, Senders).Select(number => SendLargeAsync(server.Address, number)));
        await ended.CancelAsync();
        long most = await watching;

        Assert.InRange(most, MostBytes, 18 * MostBytes);
        HashSet<int> seen = [];
        await using QueueReader reader = asking.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync("large", StartPosition.Begin, Token);
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
            Assert.True(seen.Add(BitConverter.ToInt32(message.Body.Span)), "stored twice");
        Assert.Equal(Senders * EachSends, seen.Count);

        async Task SendLargeAsync(string address, int number)
        {
            await using var client = new EQueueClient(address);
            await using Producer producer = client.CreateProducer();
            await Task.WhenAll(Enumerable.Range(0, EachSends).Select(i =>
            {
                byte[] body = new byte[(MostBytes / 2) + (i * 1024)];
                BitConverter.TryWriteBytes(body, (number * EachSends) + i);
                return producer.SendAsync("large", body, cancellationToken: Token).AsTask();
            }));
        }
    }

    private static Task<ProgramResult> RunAsync(ServerProcess server, params string[] arguments) =>
        ProgramRun.RunAsync("Cli", [.. arguments, "--server", server.Address]);

    private static async Task<TimeSpan> SendAsync(string address, string name, string topic)
    {
        await using var client = new EQueueClient(new ClientOptions { Addresses = address, ClientName = name });
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 2 * BodyBytes });
        long started = Stopwatch.GetTimestamp();
        await Task.WhenAll(Enumerable.Range(0, Messages).Select(_ =>
            producer.SendAsync(topic, new byte[BodyBytes], cancellationToken: Token).AsTask()));
        return Stopwatch.GetElapsedTime(started);
    }

    private static async Task<TimeSpan> ReadAsync(string address, string name, string topic)
    {
        await using var client = new EQueueClient(new ClientOptions { Addresses = address, ClientName = name });
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(topic, StartPosition.Begin, Token);
        long started = Stopwatch.GetTimestamp();
        int read = 0;
        await foreach (ReceivedMessage _ in reader.ReadAllAsync(Token))
            read++;
        Assert.Equal(Messages, read);
        return Stopwatch.GetElapsedTime(started);
    }

    private static async Task<long> WatchAsync(EQueueClient client, string figure, CancellationToken cancellationToken)
    {
        long most = 0;
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(5));
        try
        {
            while (await timer.WaitForNextTickAsync(cancellationToken))
                most = Math.Max(most, (await client.Admin.ReadFiguresAsync(cancellationToken)).Find(figure) ?? 0);
        }
        catch (OperationCanceledException)
        {
            // The senders have done.
        }

        return most;
    }
}
