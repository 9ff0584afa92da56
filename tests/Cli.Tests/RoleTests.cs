using EQueue.Cli.Access;
using EQueue.Cli.Input;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>Which rules a role is, and which rules there can be: as docs/security.md says.</summary>
public sealed class RoleTests
{
    [Theory]
    [InlineData("producer", "topic:orders", "allow user:u write topic:orders", "allow user:u create topic:orders")]
    [InlineData(
        "consumer", "topic:orders* group:billing", "allow user:u read topic:orders*", "allow user:u read group:billing")]
    [InlineData(
        "viewer", "", "allow user:u describe topic:*", "allow user:u describe group:*", "allow user:u describe broker")]
    [InlineData("viewer", "topic:orders", "allow user:u describe topic:orders")]
    [InlineData(
        "operator", "",
        "allow user:u describe topic:*", "allow user:u create topic:*", "allow user:u alter topic:*",
        "allow user:u delete topic:*", "allow user:u describe group:*", "allow user:u alter group:*",
        "allow user:u delete group:*", "allow user:u describe broker")]
    [InlineData(
        "operator", "group:billing",
        "allow user:u describe group:billing", "allow user:u alter group:billing", "allow user:u delete group:billing")]
    public async Task GivenARole_WhenItIsShownWithoutSettingIt_ThenItIsTheseRules(
        string role, string resources, params string[] rules)
    {
        CliRun run = await CliRun.RunAsync(
            ["acl", "grant", "user:u", role, .. Split(resources), "--dry-run"]);
        Assert.True(run.ExitCode == ExitCode.Done, run.Error);
        Assert.Equal(rules.Select(rule => rule.Replace(' ', '\t')), run.OutputLines);
    }

    [Fact]
    public void GivenEveryRole_WhenLookedAt_ThenNoneLetsItsPrincipalSetRules()
    {
        foreach (Role role in Role.All)
        {
            AccessResource[] resources =
            [
                .. role.Needed.Select(kind => new AccessResource(kind, "name")),
            ];
            IReadOnlyList<AccessRule> rules = role.RulesFor("user:u", resources);
            Assert.NotEmpty(rules);
            Assert.All(rules, rule => Assert.True(PermissionText.Fits(rule.Permission, rule.Resource), $"{rule}"));
            Assert.All(rules, rule => Assert.False(rule.Permission is Permission.Administer or Permission.All, $"{rule}"));
        }
    }

    /// <summary>The table of operations: a dash where there is nothing to do.</summary>
    [Fact]
    public void GivenTheTableOfOperations_WhenCompared_ThenTheCommandLineTakesThoseThatItNames()
    {
        var rows = File.ReadLines(Path.Combine(ProgramFiles.Root, "docs", "security.md"))
            .SkipWhile(static line => line != "| operation | topic | group | broker |")
            .Skip(2)
            .TakeWhile(static line => line.StartsWith('|'))
            .Select(static line => line.Trim('|').Split('|', StringSplitOptions.TrimEntries))
            .ToDictionary(static row => row[0].Trim('`'), static row => row[1..]);
        Assert.Equal(PermissionText.Words.Order(), rows.Keys.Order());
        foreach (Permission permission in Enum.GetValues<Permission>())
        {
            string[] row = rows[PermissionText.Of(permission)];
            Assert.Equal(row[0] != "-", PermissionText.Fits(permission, ResourceKind.Topic));
            Assert.Equal(row[1] != "-", PermissionText.Fits(permission, ResourceKind.Group));
            Assert.Equal(row[2] != "-", PermissionText.Fits(permission, ResourceKind.Broker));
        }
    }

    [Theory]
    [InlineData("acl allow user:u write group:g", "it goes with topic.")]
    [InlineData("acl deny user:u administer topic:t", "it goes with broker.")]
    [InlineData("acl test user:u read broker", "it goes with topic and group.")]
    [InlineData("acl grant user:u consumer topic:t", "A consumer needs group:NAME.")]
    [InlineData("acl grant user:u consumer", "A consumer needs topic:NAME and group:NAME.")]
    [InlineData("acl grant user:u producer topic:t group:g", "A producer has nothing to do with group:g.")]
    [InlineData("acl test user:u all topic:t", "Name one operation")]
    [InlineData("acl test user:u read topic:t*", "Name one resource")]
    public async Task GivenARuleThatMeansNothing_WhenRun_ThenItSaysWhatWould(string line, string expected)
    {
        CliRun run = await CliRun.RunAsync(line.Split(' '));
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains(expected, run.Error, StringComparison.Ordinal);
    }

    private static string[] Split(string words) => words.Split(' ', StringSplitOptions.RemoveEmptyEntries);
}
