using System.Text.RegularExpressions;
using EQueue.Cli.Explaining;
using EQueue.Cli.Output;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>What the command line advises, a person in trouble types: none of it changes anything.</summary>
public sealed partial class AdviceTests
{
    /// <summary>They only look, whatever they are given.</summary>
    private static readonly string[] ReadOnlyVerbs =
    [
        "topic list", "topic describe", "find", "explain", "group list", "group describe", "group lag", "top",
        "quota list", "context list", "log verify", "log inspect", "completion bash", "completion zsh",
        "completion pwsh",
    ];

    private static readonly string[] Verbs = [.. CliVerbs.All().OrderByDescending(static verb => verb.Length)];

    [Fact]
    public void GivenEveryErrorThereIs_WhenItsNextStepIsAdvised_ThenTheCommandChangesNothing()
    {
        Exception[] errors =
        [
            .. Enum.GetValues<ErrorCode>().Select(static code => new EQueueException(code)),
            .. Enum.GetValues<ErrorCode>().Select(static code => new EQueueException(
                ErrorCode.Timeout, "in vain", new EQueueException(code))),
            .. Enum.GetValues<BackupFault>().Select(static fault => new BackupException(fault, "path", "fault")),
            .. Enum.GetValues<DiskFault>().Select(static fault => new DiskException(fault, "path", "open", "fault")),
        ];
        string[] advice = [.. errors.Select(NextStep.Of).OfType<string>()];
        Assert.True(advice.Length > 20, $"{advice.Length}");
        Assert.All(advice, AssertChangesNothing);
    }

    [Fact]
    public void GivenEveryStandingOfAMessage_WhenExplained_ThenTheAdviceChangesNothing()
    {
        foreach (Standing standing in Enum.GetValues<Standing>())
        {
            var facts = new Explanation
            {
                Topic = "orders",
                Group = "billing",
                Offset = 4711,
                Queue = new QueueDescription(
                    2, 0, new QueueId(1), QueueState.Readable, new QueueOffset(0), new QueueOffset(5_000), 1, 1),
                Standing = standing,
                Member = new MemberDescription(
                    Guid.NewGuid(), null, "till-1", "", TimeSpan.Zero, TimeSpan.Zero, [], 1, 0),
            };
            Assert.All(Sentences.Of(facts), AssertChangesNothing);
        }
    }

    /// <summary>Also what no enumeration reaches: every text of the sources that names a command.</summary>
    [Fact]
    public void GivenEveryTextOfTheProgram_WhenItNamesACommandOutsideAnExample_ThenTheCommandChangesNothing()
    {
        int found = 0;
        foreach (string path in Directory.EnumerateFiles(
                     Path.Combine(ProgramFiles.Root, "src", "Cli"), "*.cs", SearchOption.AllDirectories))
        {
            // What shells read is no advice.
            if (Path.GetFileName(path) is "ShellScripts.cs" or "CompletionCommands.cs") continue;
            foreach (Match text in TextPattern().Matches(
                         string.Join('\n', File.ReadLines(path).Where(static line => !line.Contains("///", StringComparison.Ordinal)))))
            {
                string advice = ExamplePattern().Replace(text.Value, "");
                found += AdvicePattern().Count(advice);
                AssertChangesNothing(advice);
            }
        }

        Assert.True(found > 10, $"{found}");
    }

    [Theory]
    [InlineData("Start a reader, or try: equeue consume orders --group billing")]
    [InlineData("equeue topic alter orders --retention-age 1d; see equeue topic list")]
    [InlineData("is still there: equeue topic delete x --yes")]
    public void GivenAdviceThatChangesSomething_WhenLookedAt_ThenItIsFound(string advice) =>
        Assert.False(ChangesNothing(advice));

    private static void AssertChangesNothing(string advice) => Assert.True(ChangesNothing(advice), advice);

    private static bool ChangesNothing(string advice) => AdvicePattern().Matches(advice).All(static match =>
    {
        string words = match.Groups["words"].Value;
        string? verb = Verbs.FirstOrDefault(one => words.StartsWith(one, StringComparison.Ordinal));
        return words.Contains("--help", StringComparison.Ordinal) || (verb is not null && ReadOnlyVerbs.Contains(verb));
    });

    [GeneratedRegex(@"equeue (?<words>(topic|send|consume|forward|find|explain|group|top|quota|perf|context|log|backup|restore|completion)\b[^;,:.""]*)")]
    private static partial Regex AdvicePattern();

    [GeneratedRegex(@"""(?:[^""\\\n]|\\.)*""(?:\s*\+\s*\$?""(?:[^""\\\n]|\\.)*"")*")]
    private static partial Regex TextPattern();

    [GeneratedRegex(@"Example: .*", RegexOptions.Singleline)]
    private static partial Regex ExamplePattern();
}
