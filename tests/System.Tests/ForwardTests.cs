using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary><c>equeue forward</c> between two brokers, killed again and again while messages come.</summary>
public sealed class ForwardTests
{
    private const int Keys = 50;
    private const int Shares = 6;
    private const int Count = 20_000 * Shares;
    private const string Group = "mirror";

    [Fact]
    public async Task GivenMessagesThatCome_WhenForwarderAndTargetAreKilled_ThenEveryOneArrivesInOrderOfItsKey()
    {
        using var directory = new TempDirectory();
        await using ServerProcess source = await ServerProcess.StartAsync(
            directory["source"], "--flush", "async", "--Groups:ReconnectGrace", "100ms");
        await using ServerProcess target = await ServerProcess.StartAsync(directory["target"], "--flush", "async");
        await using var reading = new EQueueClient(source.Address);
        await using var written = new EQueueClient(target.Address);
        await reading.Admin.CreateTopicAsync("from", new TopicSettings { QueueCount = 4 });
        await written.Admin.CreateTopicAsync("to", new TopicSettings { QueueCount = 6 });
        using var sendMore = new SemaphoreSlim(0);
        Task sending = SendAsync(reading, sendMore);

        ProgramRun forwarder = Start(source, target);
        for (int kill = 0; kill < 3; kill++)
        {
            // A share of the messages comes in while the forwarder runs, and it dies with some of them under way.
            long before = await EndAsync(written, "to");
            sendMore.Release();
            await Eventually.TrueAsync(async () => await EndAsync(written, "to") > before + 1_000);
            if (kill == 1)
            {
                await target.KillAsync();
                Assert.False(forwarder.HasExited, forwarder.Error);
                await target.RestartAsync();
                before = await EndAsync(written, "to");
                sendMore.Release();
                await Eventually.TrueAsync(async () => await EndAsync(written, "to") > before + 1_000);
            }

            bool isTargetAway = kill == 2;
            if (isTargetAway)
            {
                // What it reads now has nowhere to go when it dies.
                await target.KillAsync();
                long fetched = await FetchedBytesAsync(reading);
                sendMore.Release();
                await Eventually.TrueAsync(async () => await FetchedBytesAsync(reading) > fetched + 100_000);
            }

            Assert.False(forwarder.HasExited, forwarder.Error);
            await forwarder.DisposeAsync();
            if (isTargetAway)
                await target.RestartAsync();
            forwarder = Start(source, target);
        }

        await using ProgramRun last = forwarder;
        sendMore.Release();
        await sending;
        await Eventually.TrueAsync(async () => await CommittedAsync(reading) == Count);
        last.Signal(PosixSignal.SIGTERM);
        int exitCode = await last.WaitForExitAsync();
        Assert.True(exitCode == 0, $"forward ended with {exitCode}: {last.Error}");
        Assert.Contains("forwarded ", last.Error, StringComparison.Ordinal);

        Assert.Equal(Count, await EndAsync(reading, "from"));
        await AssertArrivedAsync(written);
    }

    private static ProgramRun Start(ServerProcess source, ServerProcess target) => ProgramRun.Start(
        "Cli",
        ["forward", "--from", $"{source.Address}/from", "--to", $"{target.Address}/to", "--group", Group, "--follow"]);

    /// <summary>Sends a share of the numbers each time it is told.</summary>
    private static async Task SendAsync(EQueueClient client, SemaphoreSlim more)
    {
        await using Producer producer = client.CreateProducer();
        for (int next = 0; next < Count;)
        {
            await more.WaitAsync();
            for (int end = next + (Count / Shares); next < end; next++)
            {
                producer.Send(
                    "from",
                    new Message(Encoding.UTF8.GetBytes($"{next}"), Key: $"k{next % Keys}"),
                    static (_, _, error) => Assert.Null(error));
            }

            await producer.FlushAsync();
        }
    }

    /// <summary>Each number is there, and the first time of each comes in the order of its key.</summary>
    private static async Task AssertArrivedAsync(EQueueClient client)
    {
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync("to", StartPosition.Begin);
        bool[] seen = new bool[Count];
        int[] last = [.. Enumerable.Repeat(-1, Keys)];
        await foreach (ReceivedMessage message in reader.ReadAllAsync())
        {
            int number = int.Parse(message.Body.Span, NumberStyles.None, CultureInfo.InvariantCulture);
            Assert.Equal($"k{number % Keys}", message.KeyText);
            if (seen[number])
                continue;
            seen[number] = true;
            Assert.Equal(last[number % Keys], number - Keys < 0 ? -1 : number - Keys);
            last[number % Keys] = number;
        }

        Assert.DoesNotContain(false, seen);
    }

    private static async Task<long> EndAsync(EQueueClient client, string topic) =>
        (await client.Admin.DescribeTopicAsync(topic)).Queues.Sum(queue => queue.End.Value);

    private static async Task<long> FetchedBytesAsync(EQueueClient client) =>
        (await client.Admin.ReadFiguresAsync()).Find("broker.fetchedBytes")!.Value;

    private static async Task<long> CommittedAsync(EQueueClient client) =>
        (await client.Admin.ReadGroupOffsetsAsync(Group, "from")).Sum(offset => Math.Max(0, offset.Value));
}
