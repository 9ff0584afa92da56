using System.Globalization;
using System.Text;
using System.Text.Json;

namespace EQueue.Cli.Tests;

/// <summary>Two brokers, the topic <c>from</c> on the first, and <c>forward</c> to <c>to</c> on the second.</summary>
internal sealed class ForwardPlant : IAsyncDisposable
{
    private const int Keys = 20;

    private ForwardPlant(CliBroker source, CliBroker target) => (Source, Target) = (source, target);

    public CliBroker Source { get; }

    public CliBroker Target { get; }

    public static async Task<ForwardPlant> StartAsync(int queues = 4)
    {
        var plant = new ForwardPlant(await CliBroker.StartAsync(), await CliBroker.StartAsync());
        await plant.Source.Client.Admin.CreateTopicAsync("from", new TopicSettings { QueueCount = queues });
        return plant;
    }

    public Task<CliRun> ForwardAsync(params string[] arguments) => ForwardAsync(CancellationToken.None, arguments);

    public Task<CliRun> ForwardAsync(CancellationToken cancellationToken, params string[] arguments) =>
        CliRun.RunAsync(
            ["forward", "--from", $"{Source.Address}/from", "--to", $"{Target.Address}/to", .. arguments],
            [],
            cancellationToken);

    /// <summary>Runs it to its orderly end.</summary>
    /// <returns>How many messages it says that it forwarded.</returns>
    public async Task<int> ForwardedAsync(params string[] arguments)
    {
        CliRun run = await ForwardAsync([.. arguments, "--json"]);
        Assert.True(run.ExitCode == ExitCode.Done, $"{run.ExitCode}: {run.Error}");
        return CountOf(run);
    }

    public static int CountOf(CliRun run) =>
        JsonDocument.Parse(run.OutputText).RootElement.GetProperty("forwarded").GetInt32();

    /// <summary>Sends numbers, each with one of a few keys.</summary>
    public async Task SendAsync(int first, int count)
    {
        await using Producer producer = Source.Client.CreateProducer();
        var sends = new List<Task>();
        for (int i = first; i < first + count; i++)
            sends.Add(producer.SendAsync("from", Encoding.UTF8.GetBytes($"{i}"), key: $"k{i % Keys}").AsTask());
        await Task.WhenAll(sends);
    }

    /// <summary>Everything that the target has, queue by queue.</summary>
    public async Task<IReadOnlyList<DetachedMessage>> ReadTargetAsync()
    {
        await using QueueReader reader = Target.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync("to", StartPosition.Begin);
        var messages = new List<DetachedMessage>();
        await foreach (ReceivedMessage message in reader.ReadAllAsync())
            messages.Add(message.Detach());
        return messages;
    }

    public async Task<IReadOnlyList<int>> ReadNumbersAsync() => [.. (await ReadTargetAsync()).Select(NumberOf)];

    /// <summary>Messages that the target has now, or 0 while the topic is missing.</summary>
    public async Task<long> CountTargetAsync()
    {
        try
        {
            return (await Target.Client.Admin.DescribeTopicAsync("to")).Queues.Sum(queue => queue.End.Value);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownTopic)
        {
            return 0;
        }
    }

    /// <summary>What the group has committed over all queues.</summary>
    public async Task<long> CommittedAsync(string group) =>
        (await Source.Client.Admin.ReadGroupOffsetsAsync(group, "from")).Sum(offset => Math.Max(0, offset.Value));

    /// <summary>
    /// Each number is there, and the first time of each comes in the order of its key; repetitions do not count.
    /// </summary>
    public async Task AssertForwardedAsync(int count)
    {
        IReadOnlyList<DetachedMessage> messages = await ReadTargetAsync();
        foreach (IGrouping<string, DetachedMessage> key in messages.GroupBy(message => Text(message.Key!)))
        {
            Assert.Single(key.Select(message => message.Queue).Distinct());
            int[] firsts = [.. key.Select(NumberOf).Distinct()];
            Assert.Equal(firsts.Order(), firsts);
        }

        Assert.Equal(Enumerable.Range(0, count), messages.Select(NumberOf).Distinct().Order());
    }

    public async ValueTask DisposeAsync()
    {
        await Source.DisposeAsync();
        await Target.DisposeAsync();
    }

    private static int NumberOf(DetachedMessage message) =>
        int.Parse(Text(message.Body!), CultureInfo.InvariantCulture);

    private static string Text(byte[] bytes) => Encoding.UTF8.GetString(bytes);
}
