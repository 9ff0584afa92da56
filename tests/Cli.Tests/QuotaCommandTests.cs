namespace EQueue.Cli.Tests;

/// <summary><c>quota ...</c> against a real broker, within this process.</summary>
public sealed class QuotaCommandTests : CommandTest
{
    [Fact]
    public async Task GivenQuotas_WhenSetListedAndRemoved_ThenEachIsALine()
    {
        CliRun set = await DoneAsync(
            "quota", "set", "client", "billing", "--produce-rate", "10MiB", "--fetch-rate", "512KiB");
        Assert.Contains("set the quota of client billing", set.Error, StringComparison.Ordinal);
        Assert.Equal(
            """{"kind":"topic","name":"*","produceBytesPerSecond":0,"fetchBytesPerSecond":0,"requestsPerSecond":5}""",
            Assert.Single(
                (await DoneAsync("quota", "set", "topic", "*", "--request-rate", "5", "--json")).OutputLines));
        Assert.Equal(
            ["client\tbilling\t10485760\t524288\t0", "topic\t*\t0\t0\t5"],
            (await DoneAsync("quota", "list")).OutputLines);
        await DoneAsync("quota", "remove", "client", "billing");
        Assert.Equal(
            """{"kind":"topic","name":"*","produceBytesPerSecond":0,"fetchBytesPerSecond":0,"requestsPerSecond":5}""",
            Assert.Single((await DoneAsync("quota", "list", "--json")).OutputLines));
    }

    [Fact]
    public async Task GivenAQuota_WhenLinesAreSentTooFast_ThenTheyTakeTheirTimeAndAllArrive()
    {
        await DoneAsync("topic", "create", "orders", "--queues", "1");
        await DoneAsync("quota", "set", "topic", "orders", "--produce-rate", "200KiB");
        byte[] lines = [.. Enumerable.Repeat((byte[])[.. Enumerable.Repeat((byte)'x', 9_999), (byte)'\n'], 50)
            .SelectMany(line => line)];
        long started = Environment.TickCount64;
        CliRun sent = await CliRun.RunAsync(WithServer("send", "orders", "--lines", "-"), lines);
        Assert.Equal(ExitCode.Done, sent.ExitCode);
        Assert.InRange(Environment.TickCount64 - started, 1_200, 30_000);
        Assert.Equal(50, (await DoneAsync("consume", "orders", "--queue", "0")).OutputLines.Length);
    }

    [Fact]
    public async Task GivenWhatCannotBe_WhenSetOrRemoved_ThenTheErrorIsTyped()
    {
        await FailsAsync(ExitCode.NotFound, "NotFound", "quota", "remove", "client", "nobody");
        await FailsAsync(ExitCode.Usage, "Usage", "quota", "set", "client", "billing");
        await FailsAsync(ExitCode.Usage, "Usage", "quota", "set", "group", "billing", "--request-rate", "5");
        await FailsAsync(ExitCode.Usage, "Usage", "quota", "set", "client", "billing", "--request-rate", "-5");
        await FailsAsync(
            ExitCode.Refused, "InvalidArgument", "quota", "set", "topic", "no/slash", "--request-rate", "5");
    }
}
