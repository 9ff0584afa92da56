using EQueue.Cli.Consuming;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary><c>forward</c> when brokers are away, refuse, or are not what was meant.</summary>
public sealed class ForwardFaultTests
{
    private const string Group = "mirror";

    [Fact]
    public async Task GivenATargetThatIsAway_WhenItComesBack_ThenTheForwarderGoesOnByItself()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        using var signal = new CancellationTokenSource();
        Task<CliRun> forwarding = plant.ForwardAsync(signal.Token, "--follow", "--group", Group);
        await plant.SendAsync(0, 500);
        await Eventually.TrueAsync(async () => await plant.CountTargetAsync() == 500);
        await plant.Target.StopAsync();
        await plant.SendAsync(500, 500);
        await plant.Target.RestartAsync();
        await Eventually.TrueAsync(async () => await plant.CommittedAsync(Group) == 1_000);

        await plant.Source.StopAsync();
        await plant.Source.RestartAsync();
        await plant.SendAsync(1_000, 500);
        await Eventually.TrueAsync(async () => await plant.CommittedAsync(Group) == 1_500);
        await signal.CancelAsync();

        CliRun run = await forwarding;
        Assert.True(run.ExitCode == ExitCode.Done, run.Error);
        await plant.AssertForwardedAsync(1_500);
    }

    [Fact]
    public async Task GivenATargetThatIsAway_WhenToldToEnd_ThenNothingUnacknowledgedIsCommittedAndItGoesInTheNextRun()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        await plant.Target.Client.Admin.CreateTopicAsync("to");
        using var signal = new CancellationTokenSource();
        await using var said = new StringWriter();
        using var log = new ForwardLog(said, isTerminal: false, TimeProvider.System);
        var request = new ForwardRequest
        {
            From = new TopicAddress(plant.Source.Address, "from"),
            To = new TopicAddress(plant.Target.Address, "to"),
            Group = Group,
            Follow = true,
            Patience = TimeSpan.FromMilliseconds(1500), // commits on the way come within it
        };
        await using var source = new EQueueClient(plant.Source.Address);
        await using var target = new EQueueClient(
            new ClientOptions { Addresses = plant.Target.Address, LoggerFactory = log });
        using var forwarder = new Forwarder(request, source, target, log, TimeProvider.System);
        Task forwarding = forwarder.RunAsync(signal.Token);
        await plant.SendAsync(0, 500);
        await Eventually.TrueAsync(async () => await plant.CommittedAsync(Group) == 500);
        await plant.Target.StopAsync();
        await plant.SendAsync(500, 500);
        await Eventually.TrueAsync(() => forwarder.UnderWayBytes > 0);
        await signal.CancelAsync();

        EQueueException failure = await Assert.ThrowsAsync<EQueueException>(() => forwarding);
        Assert.Equal(ExitCode.Unreachable, ExitCode.Of(failure));
        Assert.Contains("has not acknowledged everything within 1.5 s", failure.Message, StringComparison.Ordinal);
        Assert.Equal(500, forwarder.Messages);
        Assert.Equal(500, await plant.CommittedAsync(Group));

        Assert.DoesNotContain("could not be sent", said.ToString(), StringComparison.Ordinal);
        await source.DisposeAsync();
        await plant.Target.RestartAsync();
        Assert.Equal(500, await plant.ForwardedAsync("--group", Group));
        await plant.AssertForwardedAsync(1_000);
    }

    [Fact]
    public async Task GivenAMessageThatTheTargetRefuses_WhenForwarded_ThenItEndsBeforeItAndSaysSo()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync(queues: 1);
        await plant.Target.Client.Admin.CreateTopicAsync(
            "to", new TopicSettings { QueueCount = 1, MaxMessageBytes = 2_000 });
        await plant.SendAsync(0, 10);
        await using (Producer producer = plant.Source.Client.CreateProducer())
            await producer.SendAsync("from", new byte[2_001]);
        await plant.SendAsync(11, 10);

        for (int i = 0; i < 2; i++)
        {
            CliRun run = await plant.ForwardAsync("--group", Group, "--json");
            Assert.Equal(ExitCode.Refused, run.ExitCode);
            Assert.Contains("\"MessageTooLarge\"", run.Error, StringComparison.Ordinal);
            Assert.Contains("queue 0 from offset 10 on", run.Error, StringComparison.Ordinal);
            Assert.Equal(10, await plant.CommittedAsync(Group));
        }

        Assert.Equal(Enumerable.Range(0, 10), await plant.ReadNumbersAsync());
        await plant.Target.Client.Admin.AlterTopicAsync("to", new TopicSettings { MaxMessageBytes = 3_000 });
        Assert.Equal(11, await plant.ForwardedAsync("--group", Group));
    }

    [Fact]
    public async Task GivenATargetTopicThatIsDeleted_WhenForwarding_ThenItEndsWithThreeAndCommitsNothingOfTheRest()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        Task<CliRun> forwarding = plant.ForwardAsync("--follow", "--group", Group, "--json");
        await plant.SendAsync(0, 100);
        await Eventually.TrueAsync(async () => await plant.CommittedAsync(Group) == 100);
        await plant.Target.Client.Admin.DeleteTopicAsync("to");
        await plant.SendAsync(100, 100);

        CliRun run = await forwarding;
        Assert.Equal(ExitCode.NotFound, run.ExitCode);
        Assert.Equal(100, await plant.CommittedAsync(Group));
        Assert.Equal(100, await plant.ForwardedAsync("--group", Group));
    }

    [Fact]
    public async Task GivenTheSameTopic_WhenForwarded_ThenItIsRefusedWithoutATrace()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        CliRun run = await CliRun.RunAsync(
            "forward", "--from", $"{plant.Source.Address}/from", "--to", $"localhost:{Port(plant.Source)}/from");
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains("are the same topic of the same broker", run.Error, StringComparison.Ordinal);
        Assert.Empty((await CliRun.RunAsync("group", "list", "--server", plant.Source.Address)).Output);
    }

    [Fact]
    public async Task GivenWhatIsNotThere_WhenForwarded_ThenTheExitCodeTellsWhich()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync();
        (string from, string to) = ($"{plant.Source.Address}/from", $"{plant.Target.Address}/to");
        CliRun topic = await CliRun.RunAsync("forward", "--from", $"{plant.Source.Address}/none", "--to", to);
        Assert.Equal(ExitCode.NotFound, topic.ExitCode);
        Assert.Contains("There is no topic 'none'", topic.Error, StringComparison.Ordinal);
        Assert.Empty((await CliRun.RunAsync("topic", "list", "--server", plant.Target.Address)).Output);
        string[] away = ["forward", "--timeout", "300ms", "--from"];
        Assert.Equal(ExitCode.Unreachable, (await CliRun.RunAsync([.. away, "127.0.0.1:1/from", "--to", to])).ExitCode);
        Assert.Equal(ExitCode.Unreachable, (await CliRun.RunAsync([.. away, from, "--to", "127.0.0.1:1/to"])).ExitCode);
    }

    private static string Port(CliBroker broker) => broker.Address.Split(':')[1];
}
