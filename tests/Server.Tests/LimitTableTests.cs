using EQueue.Broker;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>Every limit can be set, says its unit and what happens at it, and stands in the table of operating.md;
/// EQUEUE_WRITE_REFERENCE=1 has the table written.</summary>
public sealed class LimitTableTests
{
    public static TheoryData<string> Limits => [.. typeof(LimitOptions).GetProperties().Select(limit => limit.Name)];

    [Theory]
    [MemberData(nameof(Limits))]
    public void GivenALimitOfTheBroker_WhenLookedForAmongTheSettings_ThenItSaysItsUnitAndWhatHappensAtIt(string limit)
    {
        Setting setting = Assert.Single(LimitTable.Limits, one => one.Key == $"Limits:{limit}");
        Assert.NotEmpty(setting.Unit!);
        Assert.NotEmpty(setting.AtLimit);
        Assert.Contains(
            $"| `{setting.Key}` | {setting.Write(new ServerOptions())}", LimitTable.Write(), StringComparison.Ordinal);
    }

    [Fact]
    public void GivenTheLimitsThatFollowMemory_WhenHeldAgainstTheTable_ThenTheyAreThoseThatItCallsLess()
    {
        var usual = new LimitOptions();
        LimitOptions cut = usual.ForMemory(64 << 20, new BrokerOptions().Store);
        Assert.Equal(
            typeof(LimitOptions).GetProperties()
                .Where(limit => !Equals(limit.GetValue(usual), limit.GetValue(cut)))
                .Select(limit => $"Limits:{limit.Name}").Order(),
            LimitTable.Limits.Where(limit => limit.FollowsMemory).Select(limit => limit.Key).Order());
    }

    [Fact]
    public void GivenThePageOfOperating_WhenRead_ThenItsTableIsThatOfTheSettings()
    {
        string path = Path.Combine(ProgramFiles.Root, "docs", "operating.md");
        string page = File.ReadAllText(path).ReplaceLineEndings("\n");
        if (Environment.GetEnvironmentVariable("EQUEUE_WRITE_REFERENCE") == "1")
            File.WriteAllText(path, page = LimitTable.Replace(page));
        Assert.Equal(LimitTable.Replace(page), page);
    }
}
