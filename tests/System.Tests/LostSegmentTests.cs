using System.Net;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A file of the log that goes away under a server that runs.</summary>
public sealed class LostSegmentTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenASegmentThatIsDeleted_WhenItWasRead_ThenTheServerIsReadyAndSaysThatItIsDegraded()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--admin", "127.0.0.1:0", "--flush", "async", "--Store:SegmentSizeBytes", "8MiB",
            "--Store:TailMemoryBytes", "1MiB", "--Limits:MaxMessageBytes", "256KiB");
        await using var client = new EQueueClient(server.Address);
        await using (Producer producer = client.CreateProducer())
        {
            for (int i = 0; i < 300; i++)
                await producer.SendAsync("t", new byte[100_000], "key", cancellationToken: Token);
        }

        Assert.Equal((HttpStatusCode.OK, "ready\n"), await ReadyAsync(server));
        // Only sealed segments have an index.
        string index = "";
        await Eventually.TrueAsync(() => (index = Directory
            .GetFiles(directory["data"], "*.index", SearchOption.AllDirectories).Order().FirstOrDefault("")) != "");
        File.Delete(Path.ChangeExtension(index, ".log"));
        File.Delete(index);

        Assert.InRange(await CountAsync(client), 150, 299);
        Assert.Equal(
            (HttpStatusCode.OK, "ready, degraded: 1 segments of the log are lost\n"), await ReadyAsync(server));
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "send", "t", "x", "--server", server.Address)).ExitCode);
        Assert.Equal(0, await server.StopAsync());
    }

    /// <summary>Messages that a reader gets that passes over what is lost.</summary>
    private static async Task<int> CountAsync(EQueueClient client)
    {
        TopicDescription topic = await client.Admin.DescribeTopicAsync("t", Token);
        QueueDescription queue = Assert.Single(topic.Queues, queue => queue.End.Value > 0);
        await using QueueReader reader = client.CreateReader(
            new ReaderOptions { StopAtEnd = true, WhenDamaged = DamagedDataPolicy.Skip });
        await reader.AssignAsync("t", queue.Number, StartPosition.Begin);
        int count = 0;
        await foreach (ReceivedMessage _ in reader.ReadAllAsync(Token))
            count++;
        return count;
    }

    private static async Task<(HttpStatusCode Status, string Text)> ReadyAsync(ServerProcess server)
    {
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        using HttpResponseMessage answer = await http.GetAsync("/health/ready", Token);
        return (answer.StatusCode, await answer.Content.ReadAsStringAsync(Token));
    }
}
