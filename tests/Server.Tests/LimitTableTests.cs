using System.Globalization;
using System.Reflection;
using EQueue.Broker;
using EQueue.Cluster;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>Every limit can be set, says its unit and what happens at it, and stands in the table of operating.md;
/// EQUEUE_WRITE_REFERENCE=1 has the table written.</summary>
public sealed class LimitTableTests
{
    /// <summary>Sizes of steps and of what is kept for speed: at them nothing is refused or left out.</summary>
    private static readonly string[] Unmet =
    [
        "BacklogCount.MaxMarksPerTopic",
        "CertificateMapping.MostStars",
        "DeletionWatch.MaxLines",
        "FetchReader.MaxLongPasses",
        "FetchReader.MaxSkipped",
        "FetchReader.MostColdBytes",
        "GroupRemover.MaxRemovedAtOnce",
        "GroupWatch.MostLookUps",
        "PassedQueues.MaxUntoldMessages",
        "PeerAccess.MostRemembered",
        "ProduceWaiter.MaxPooledBatches",
        "ProduceWaiterPool.MaxKept",
        "ProgressWriter.MaxNamed",
    ];

    private static readonly FieldInfo[] Constants =
    [
        .. new[]
        {
            typeof(LimitOptions), typeof(NameRules), typeof(QueueStore), typeof(ClusterOptions), typeof(LimitTable),
        }
            .SelectMany(type => type.Assembly.GetTypes())
            .SelectMany(type => type.GetFields(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic))
            .Where(field => field.IsLiteral && (field.FieldType == typeof(int) || field.FieldType == typeof(long))),
    ];

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
    public void GivenALimitThatNoSettingChanges_WhenHeldAgainstTheConstantThatIsObeyed_ThenTheTableHasItsNumber() =>
        Assert.All(FixedLimits.All, limit => Assert.Equal(limit.Most, ValueOf(ConstantOf(limit.Constant))));

    [Fact]
    public void GivenTheConstantsOfTheBrokerThatAreMosts_WhenLookedForInTheTable_ThenEachIsThereOrNobodyMeetsIt()
    {
        string[] known =
        [
            .. Constants.Where(constant => constant.DeclaringType!.Assembly == typeof(LimitOptions).Assembly)
                .Where(constant => constant.Name.StartsWith("Max", StringComparison.Ordinal)
                    || constant.Name.StartsWith("Most", StringComparison.Ordinal))
                .Select(constant => $"{constant.DeclaringType!.Name}.{constant.Name}"),
        ];
        Assert.Empty(Unmet.Except(known));
        Assert.Empty(known.Except(Unmet).Except(FixedLimits.All.Select(limit => limit.Constant)));
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

    private static FieldInfo ConstantOf(string name) =>
        Assert.Single(Constants, constant => $"{constant.DeclaringType!.Name}.{constant.Name}" == name);

    private static long ValueOf(FieldInfo constant) =>
        Convert.ToInt64(constant.GetRawConstantValue(), CultureInfo.InvariantCulture);
}
