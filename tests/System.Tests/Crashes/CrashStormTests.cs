using System.Globalization;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>
/// A broker that is killed every few seconds while messages go in at a steady rate and a group reads them.
/// EQUEUE_CRASH_SECONDS sets for how long (5), EQUEUE_CRASH_RATE the messages a second (50,000), EQUEUE_CRASH_RETENTION
/// the topic's bytes kept (1 GB), EQUEUE_CRASH_SEED the seed, EQUEUE_CRASH_DIRECTORY where the data is, EQUEUE_CRASH_FLUSH one
/// policy instead of both.
/// </summary>
public sealed class CrashStormTests(ITestOutputHelper output)
{
    public static TheoryData<string> Policies =>
        Environment.GetEnvironmentVariable("EQUEUE_CRASH_FLUSH") is { } one ? [one] : ["sync", "async"];

    [Theory]
    [MemberData(nameof(Policies))]
    public async Task GivenABrokerThatIsKilledAgainAndAgain_WhenAllIsRead_ThenNothingIsMissingAndNothingIsTwice(
        string flush)
    {
        using var directory = new TempDirectory();
        string? place = Environment.GetEnvironmentVariable("EQUEUE_CRASH_DIRECTORY");
        string data = place is null ? directory["data"] : Path.Combine(place, flush);
        await using CrashStorm storm = await CrashStorm.StartAsync(
            data,
            flush,
            new Random(LongRun.Setting("EQUEUE_CRASH_SEED", 1)),
            LongRun.Setting("EQUEUE_CRASH_RATE", 50_000),
            Setting("EQUEUE_CRASH_RETENTION", 1_000_000_000));
        try
        {
            await storm.RunAsync(TimeSpan.FromSeconds(LongRun.Length("EQUEUE_CRASH_SECONDS", 5, 60)));
            await storm.CheckAsync();
        }
        finally
        {
            output.WriteLine(storm.Describe());
        }
    }

    private static long Setting(string name, long otherwise) =>
        long.TryParse(Environment.GetEnvironmentVariable(name), CultureInfo.InvariantCulture, out long value)
            ? value : otherwise;
}
