using System.Text;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary><c>forward</c> between real brokers, within this process.</summary>
public sealed class ForwardTests
{
    private const string Group = "mirror";

    [Fact]
    public async Task GivenMessagesOfEveryShape_WhenForwarded_ThenKeyBodyTagAndPropertiesAreTheSame()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync(queues: 1);
        var properties = new RecordProperties();
        properties.Add("a", "1");
        properties.Add("a", new byte[] { 0xFF, 0x00 });
        properties.Add("leer", "");
        properties.Add("null", default(string));
        Message[] messages =
        [
            new("plain"u8.ToArray()),
            new(ReadOnlyMemory<byte>.Empty, Key: ""),
            new(null, Key: "clé", Tag: "étiquette", Properties: properties),
            new("no properties again"u8.ToArray(), Tag: ""),
            new(new byte[3_000_000]),
        ];
        await using (Producer producer = plant.Source.Client.CreateProducer())
        {
            foreach (Message message in messages)
                await producer.SendAsync("from", message);
        }

        Assert.Equal(messages.Length, await plant.ForwardedAsync());

        IReadOnlyList<DetachedMessage> read = await plant.ReadTargetAsync();
        Assert.Equal(messages.Length, read.Count);
        foreach ((Message sent, DetachedMessage received) in messages.Zip(read))
        {
            Assert.Equal(sent.Body?.ToArray(), received.Body);
            Assert.Equal(sent.Key, received.Key is null ? null : Encoding.UTF8.GetString(received.Key));
            Assert.Equal(sent.Tag, received.Tag);
        }

        Assert.Equal(
            ["a=31", "a=FF00", "leer=", "null=-"],
            read[2].Properties.Select(pair => $"{pair.Key}={(pair.Value is null ? "-" : Convert.ToHexString(pair.Value))}"));
        Assert.Empty(read[3].Properties);
    }

    [Fact]
    public async Task GivenAForwardedTopic_WhenForwardedAgain_ThenOnlyWhatIsNewGoes()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync(queues: 3);
        await plant.SendAsync(0, 5_000);
        CliRun first = await plant.ForwardAsync("--json");
        Assert.Equal(ExitCode.Done, first.ExitCode);
        JsonElement summary = JsonDocument.Parse(Assert.Single(first.OutputLines)).RootElement;
        Assert.Equal(
            ["from", "to", "group", "forwarded", "bytes", "seconds", "perSecond"],
            summary.EnumerateObject().Select(property => property.Name));
        Assert.Equal(5_000, summary.GetProperty("forwarded").GetInt32());
        Assert.Equal($"{plant.Target.Address}/to", summary.GetProperty("to").GetString());
        Assert.Equal(Enumerable.Range(0, 5_000).Sum(i => $"{i}".Length), summary.GetProperty("bytes").GetInt64());
        TopicDescription made = await plant.Target.Client.Admin.DescribeTopicAsync("to");
        Assert.Equal(3, made.Queues.Count);
        string group = summary.GetProperty("group").GetString()!;
        Assert.Equal($"forward-to-{made.Id.Value:N}", group);
        Assert.Equal(5_000, await plant.CommittedAsync(group));

        Assert.Equal(0, await plant.ForwardedAsync());
        await plant.SendAsync(5_000, 100);
        Assert.Equal(100, await plant.ForwardedAsync());
        Assert.Equal(5_100, (await plant.ReadNumbersAsync()).Count);
        await plant.AssertForwardedAsync(5_100);

        CliRun people = await plant.ForwardAsync();
        Assert.Empty(people.Output);
        Assert.StartsWith("forwarded 0 messages from ", people.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenTwoTargetsOnOneBroker_WhenForwarded_ThenEachHasAProgressOfItsOwn()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        await plant.SendAsync(0, 50);
        Assert.Equal(50, await plant.ForwardedAsync());
        string[] copy = ["forward", "--from", $"{plant.Source.Address}/from", "--json", "--to"];
        Assert.Equal(50, ForwardPlant.CountOf(await CliRun.RunAsync([.. copy, $"{plant.Source.Address}/copy"])));
        Assert.Equal(50, ForwardPlant.CountOf(await CliRun.RunAsync([.. copy, $"{plant.Target.Address}/to-2"])));
        Assert.Equal(0, ForwardPlant.CountOf(await CliRun.RunAsync([.. copy, $"{plant.Target.Address}/to-2"])));
        Assert.Equal(2, (await CliRun.RunAsync([.. copy, $"localhost:{plant.Source.Address.Split(':')[1]}/from"])).ExitCode);
    }

    [Fact]
    public async Task GivenACount_WhenForwarded_ThenExactlySoManyGoAndTheNextRunGoesOnBehindThem()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        await plant.SendAsync(0, 1_000);
        foreach (int count in new[] { 1, 6, 300 })
            Assert.Equal(count, await plant.ForwardedAsync("--count", $"{count}", "--group", Group));
        Assert.Equal(307, await plant.CommittedAsync(Group));
        Assert.Equal(693, await plant.ForwardedAsync("--count", "5000", "--group", Group));
        Assert.Equal(1_000, (await plant.ReadNumbersAsync()).Count);
        await plant.AssertForwardedAsync(1_000);
    }

    [Fact]
    public async Task GivenAStartAtTheEnd_WhenNothingCameInTheFirstRun_ThenTheNextOneForwardsWhatCameMeanwhile()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        await plant.SendAsync(0, 100);
        Assert.Equal(0, await plant.ForwardedAsync("--start", "end"));
        await plant.SendAsync(100, 30);
        Assert.Equal(30, await plant.ForwardedAsync("--start", "end"));
        Assert.Equal(Enumerable.Range(100, 30), (await plant.ReadNumbersAsync()).Order());
    }

    [Fact]
    public async Task GivenAStart_WhenForwarded_ThenMessagesBeforeItStay()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync(queues: 1);
        await plant.SendAsync(0, 10);
        Assert.Equal(0, await plant.ForwardedAsync("--start", "time:2100-01-01T00:00:00Z", "--group", "late"));
        Assert.Equal(3, await plant.ForwardedAsync("--start", "offset:7", "--group", "some"));
        Assert.Equal(10, await plant.ForwardedAsync("--start", "time:2020-01-01T00:00:00Z", "--group", "all"));
    }

    [Fact]
    public async Task GivenFollow_WhenTold_ThenItEndsInOrderWithEverythingCommitted()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        using var signal = new CancellationTokenSource();
        Task<CliRun> forwarding = plant.ForwardAsync(signal.Token, "--follow", "--group", Group, "--json");
        for (int i = 0; i < 5; i++)
        {
            await plant.SendAsync(i * 200, 200);
            await Eventually.TrueAsync(async () => await plant.CountTargetAsync() == (i + 1) * 200);
        }

        Assert.False(forwarding.IsCompleted);
        await signal.CancelAsync();
        CliRun run = await forwarding;
        Assert.True(run.ExitCode == ExitCode.Done, run.Error);
        Assert.Equal(1_000, ForwardPlant.CountOf(run));
        Assert.Equal(1_000, await plant.CommittedAsync(Group));
        await plant.AssertForwardedAsync(1_000);
    }

    [Fact]
    public async Task GivenFollowWithAnIdleExit_WhenNothingComes_ThenItEnds()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        await plant.SendAsync(0, 10);
        Assert.Equal(10, await plant.ForwardedAsync("--follow", "--idle-exit", "5s", "--durability", "durable"));
    }

    [Fact]
    public async Task GivenTwoForwardersOfOneGroup_WhenOneComesAndOneEnds_ThenTheOtherGoesOnAndNothingComesTwice()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync(queues: 8);
        await plant.Target.Client.Admin.CreateTopicAsync("to", new TopicSettings { QueueCount = 4 });
        using var first = new CancellationTokenSource();
        using var second = new CancellationTokenSource();
        var forwarding = new Task<CliRun>[2];
        forwarding[0] = plant.ForwardAsync(first.Token, "--follow", "--group", Group, "--json");
        await Eventually.TrueAsync(async () => await OwnersAsync(plant) == 1);
        int sent = 2_000;
        await plant.SendAsync(0, sent);
        await Eventually.TrueAsync(async () => await plant.CountTargetAsync() == sent);
        forwarding[1] = plant.ForwardAsync(second.Token, "--follow", "--group", Group, "--json");
        await Eventually.TrueAsync(async () =>
        {
            // Queues pass from one to the other with messages under way.
            await plant.SendAsync(sent, 1_000);
            sent += 1_000;
            return await OwnersAsync(plant) == 2;
        });
        await plant.SendAsync(sent, 20_000);
        await first.CancelAsync();
        CliRun ended = await forwarding[0];
        Assert.True(ended.ExitCode == ExitCode.Done, ended.Error);
        await plant.SendAsync(sent + 20_000, 5_000);
        sent += 25_000;
        await Eventually.TrueAsync(async () => await plant.CountTargetAsync() >= sent);
        await second.CancelAsync();
        CliRun rest = await forwarding[1];
        Assert.True(rest.ExitCode == ExitCode.Done, rest.Error);

        Assert.Equal(sent, ForwardPlant.CountOf(ended) + ForwardPlant.CountOf(rest));
        Assert.Equal(sent, (await plant.ReadNumbersAsync()).Count);
        await plant.AssertForwardedAsync(sent);
        Assert.Equal(sent, await plant.CommittedAsync(Group));
    }

    private static async Task<int> OwnersAsync(ForwardPlant plant)
    {
        try
        {
            GroupDescription group = await plant.Source.Client.Admin.DescribeGroupAsync(Group);
            return group.Queues.Where(queue => queue.Owner >= 0).Select(queue => queue.Owner).Distinct().Count();
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownGroup)
        {
            return 0;
        }
    }
}
