using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A server that is told to stop while everybody sends and reads.</summary>
public sealed class StopUnderLoadTests
{
    private const string Topic = "orders";
    private const int ProducerCount = 4;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData("sync")]
    [InlineData("async")]
    public async Task GivenFullLoad_WhenTheServerIsSignalled_ThenItEndsWithZeroMarkedCleanAndNothingAcknowledgedIsLost(
        string flush)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--flush", flush, "--admin", "127.0.0.1:0");
        await using var client = new EQueueClient(server.Address);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(Token);
        var acknowledged = new ConcurrentDictionary<(int Queue, long Offset), int>();
        Task reading = ReadAsync(client, ended.Token);
        Task[] sending = [.. Enumerable.Range(0, ProducerCount).Select(
            number => Task.Run(() => SendAsync(client, number, acknowledged, ended.Token), Token))];
        await Eventually.TrueAsync(() => acknowledged.Count > 20_000);

        Assert.Equal(0, await server.StopAsync());

        Assert.True(File.Exists(Path.Combine(directory["data"], "clean")), "no clean marker");
        await server.RestartAsync();
        int before = acknowledged.Count;
        await Eventually.TrueAsync(() => acknowledged.Count > before);
        await ended.CancelAsync();
        await Task.WhenAll([reading, .. sending]);
        await AssertStoredAsync(server.Address, acknowledged);
    }

    private static async Task AssertStoredAsync(
        string address, ConcurrentDictionary<(int Queue, long Offset), int> acknowledged)
    {
        await using var client = new EQueueClient(address);
        await using Consumer consumer = client.CreateConsumer(
            "checker", [Topic], new ConsumerOptions { AutoCommit = false });
        var missing = new Dictionary<(int Queue, long Offset), int>(acknowledged);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            if (missing.Remove((message.Queue, message.Offset.Value), out int body))
                Assert.Equal(body, BitConverter.ToInt32(message.Body.Span));
            if (missing.Count == 0)
                break;
        }
    }

    private static async Task SendAsync(
        EQueueClient client,
        int number,
        ConcurrentDictionary<(int Queue, long Offset), int> acknowledged,
        CancellationToken cancellationToken)
    {
        await using Producer producer = client.CreateProducer();
        try
        {
            for (int first = 0; ; first += 500)
            {
                Task[] sends = [.. Enumerable.Range(first, 500).Select(async i =>
                {
                    int body = (i * ProducerCount) + number;
                    SendReceipt receipt = await producer.SendAsync(
                        Topic, BitConverter.GetBytes(body), cancellationToken: cancellationToken);
                    acknowledged[(receipt.Queue, receipt.Offset.Value)] = body;
                })];
                await Task.WhenAll(sends);
            }
        }
        catch (Exception exception) when (IsEnd(exception, cancellationToken))
        {
            // The end of the test: what was not acknowledged is given up.
        }
    }

    private static async Task ReadAsync(EQueueClient client, CancellationToken cancellationToken)
    {
        await using Consumer consumer = client.CreateConsumer("billing", [Topic]);
        try
        {
            await foreach (ReceivedMessage _ in consumer.ReadAllAsync(cancellationToken))
            {
                // Only to be there.
            }
        }
        catch (Exception exception) when (IsEnd(exception, cancellationToken))
        {
            // The end of the test.
        }
    }

    private static bool IsEnd(Exception exception, CancellationToken cancellationToken) =>
        cancellationToken.IsCancellationRequested
        && exception is OperationCanceledException or EQueueException;
}
