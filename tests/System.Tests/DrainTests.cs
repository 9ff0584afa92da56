using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Queues that are drained over the command line while others send and read, and the broker is
/// killed.</summary>
public sealed class DrainTests
{
    private const string Topic = "orders";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenSendersAndReaders_WhenQueuesAreDrainedAndTheServerIsKilled_ThenTheyStayOutAndNothingIsLost()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        await using var client = new EQueueClient(server.Address);
        await client.Admin.CreateTopicAsync(Topic, new TopicSettings { QueueCount = 6 }, Token);
        ConcurrentDictionary<int, bool> consumed = [];
        await using var member = new BackgroundMember(client, "billing", Topic, (message, _) =>
        {
            consumed[BitConverter.ToInt32(message.Body.Span)] = true;
            return ValueTask.FromResult(true);
        });
        bool isEnough = false;
        int sent = 0;
        var sending = Task.Run(
            async () =>
            {
                await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
                while (!Volatile.Read(ref isEnough))
                {
                    await producer.SendAsync(Topic, BitConverter.GetBytes(sent), cancellationToken: Token);
                    Interlocked.Increment(ref sent);
                }
            },
            Token);

        await Eventually.TrueAsync(() => consumed.Count > 500);
        await AlterAsync(server, "1,3-4", "--writable", "false");
        await Eventually.TrueAsync(async () => (await StatesAsync(server))[3] == "not writable, drained");
        string[] ends = await ColumnAsync(server, 3);
        await AlterAsync(server, "1,3-4", "--readable", "false");
        await server.KillAsync();
        await server.RestartAsync();
        int before = Volatile.Read(ref sent);
        await Eventually.TrueAsync(() => Volatile.Read(ref sent) > before + 500);

        Assert.Equal(
            ["open", "closed, drained", "open", "closed, drained", "closed, drained", "open"],
            await StatesAsync(server));
        string[] later = await ColumnAsync(server, 3);
        Assert.DoesNotContain("0", later);
        foreach (int queue in (int[])[1, 3, 4])
            Assert.Equal(ends[queue], later[queue]);
        ProgramResult refused = await ProgramRun.RunAsync(
            "Cli", "consume", Topic, "--queue", "3", "--from", "begin", "--server", server.Address, "--json");
        Assert.NotEqual(0, refused.ExitCode);
        Assert.Contains(nameof(ErrorCode.QueueNotReadable), refused.Error, StringComparison.Ordinal);

        await AlterAsync(server, "all", "--writable", "true", "--readable", "true");
        Assert.All(await StatesAsync(server), state => Assert.Equal("open", state));
        Volatile.Write(ref isEnough, true);
        await sending;
        await Eventually.TrueAsync(() => consumed.Count == sent);
        await member.StopAsync();
    }

    private static async Task AlterAsync(ServerProcess server, string queues, params string[] changes)
    {
        ProgramResult done = await ProgramRun.RunAsync(
            "Cli", ["topic", "alter-queues", Topic, "--queue", queues, .. changes, "--server", server.Address]);
        Assert.True(done.ExitCode == 0, done.Error);
    }

    private static Task<string[]> StatesAsync(ServerProcess server) => ColumnAsync(server, 6);

    private static async Task<string[]> ColumnAsync(ServerProcess server, int column)
    {
        ProgramResult described = await ProgramRun.RunAsync(
            "Cli", "topic", "describe", Topic, "--server", server.Address);
        Assert.True(described.ExitCode == 0, described.Error);
        return [.. described.OutputText.TrimEnd().Split('\n').Select(line => line.Split('\t')[column])];
    }
}
