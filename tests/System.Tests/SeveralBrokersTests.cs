using System.Collections.Concurrent;
using System.Globalization;
using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A topic spread over two servers that are killed in turn while it is sent to and read.</summary>
public sealed class SeveralBrokersTests
{
    private const string Topic = "orders";
    private const int KeyCount = 20;
    private const int PerRound = 3_000;
    private const int Rounds = 4;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenTwoServers_WhenTheyAreKilledInTurn_ThenEachMessageIsStoredOnceReadAndInOrderOfItsKey()
    {
        using var directory = new TempDirectory();
        await using ServerProcess first = await ServerProcess.StartAsync(directory["first"], "--flush", "async");
        await using ServerProcess second = await ServerProcess.StartAsync(directory["second"], "--flush", "async");
        string both = $"{first.Address},{second.Address}";
        ProgramResult made = await ProgramRun.RunAsync("Cli", "topic", "create", Topic, "--queues", "3", "--server", both);
        Assert.True(made.ExitCode == 0, made.Error);
        ConcurrentQueue<string> unreachable = [];
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = both,
            ConnectFailed = failure => unreachable.Enqueue(failure.Address),
        });
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 4096 });
        ConcurrentDictionary<(int Queue, long Offset), bool> seen = [];
        await using var member = new BackgroundMember(client, "billing", Topic, (message, _) =>
        {
            seen[(message.Queue, message.Offset.Value)] = true;
            return ValueTask.FromResult(true);
        });

        List<SendReceipt> receipts = [];
        for (int round = 0; round < Rounds; round++)
        {
            ServerProcess victim = round % 2 == 0 ? first : second;
            Task<SendReceipt>[] keyed = [.. Enumerable.Range(round * PerRound, PerRound)
                .Select(i => SendAsync(producer, i, $"key-{i % KeyCount}"))];
            await victim.KillAsync();

            // What is written to a connection that is not yet known as lost waits for the broker's return.
            await Eventually.TrueAsync(() => unreachable.Contains(victim.Address));
            unreachable.Clear();
            SendReceipt[] free = await Task.WhenAll(Enumerable.Range(0, 500)
                .Select(i => SendAsync(producer, (round * PerRound) + i, key: null)));
            await victim.RestartAsync();
            receipts.AddRange(await Task.WhenAll(keyed));
            receipts.AddRange(free);
        }

        Assert.Equal(6, receipts.Select(receipt => receipt.Queue).Distinct().Count());
        Assert.Equal(receipts.Count, receipts.Select(receipt => (receipt.Queue, receipt.Offset)).Distinct().Count());
        await Eventually.TrueAsync(() => seen.Count == receipts.Count);
        await member.StopAsync();

        IReadOnlyList<Consumed> stored = await Consumed.ReadAsync(both, Topic, "--group", "check", "--from", "begin");
        Assert.Equal(
            receipts.Select(receipt => (receipt.Queue, receipt.Offset.Value)).Order(),
            stored.Select(message => (message.Queue, message.Offset)).Order());
        foreach (IGrouping<string, Consumed> key in stored
            .Where(message => message.Key is not null).GroupBy(message => message.Key!))
        {
            Assert.Single(key.Select(message => message.Queue).Distinct());
            int[] numbers = [.. key.OrderBy(message => message.Offset).Select(Number)];
            Assert.Equal(Rounds * PerRound / KeyCount, numbers.Length);
            Assert.Equal(numbers.Order(), numbers);
        }
    }

    private static int Number(Consumed message) =>
        int.Parse(Encoding.UTF8.GetString(message.Body!), CultureInfo.InvariantCulture);

    private static Task<SendReceipt> SendAsync(Producer producer, int number, string? key) => producer.SendAsync(
        Topic,
        Encoding.UTF8.GetBytes(number.ToString(CultureInfo.InvariantCulture)),
        key,
        cancellationToken: Token).AsTask();
}
