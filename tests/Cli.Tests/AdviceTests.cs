using System.Text.RegularExpressions;
using EQueue.Cli.Output;
using EQueue.Cluster.Etcd;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>What the command line advises, a person in trouble types: none of it changes anything.</summary>
public sealed partial class AdviceTests
{
    /// <summary>They only look, whatever they are given.</summary>
    private static readonly string[] ReadOnlyVerbs =
    [
        "topic list", "topic describe", "find", "explain", "group list", "group describe", "group lag", "top",
        "quota list", "user list", "token list", "acl list", "acl test", "context list", "log verify", "log inspect",
        "cluster status",
        "completion bash", "completion zsh", "completion pwsh",
    ];

    private static readonly string[] Rooms =
        ["Cli", "Server", "Broker", "MessageStore", "Client", "Remoting", "Replication", "Protocol", "Cluster"];

    /// <summary>Groups of verbs included; the longest first.</summary>
    private static readonly string[] AllVerbs =
    [
        .. CliVerbs.All().SelectMany(static verb => new[] { verb, verb.Split(' ')[0] }).Distinct()
            .OrderByDescending(static verb => verb.Length),
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
            .. Enum.GetValues<EtcdTrouble>().Select(static kind => new EtcdException(kind, "fault")),
            .. Enum.GetValues<DiskFault>().Select(static fault => new DiskException(fault, "path", "open", "fault")),
        ];
        string[] advice = [.. errors.SelectMany(static error => (string?[])
            [NextStep.Of(error), NextStep.Of(error, ""), NextStep.Of(error, "user:alice (--user)")]).OfType<string>()];
        Assert.True(advice.Length > 20, $"{advice.Length}");
        Assert.All(advice, AssertChangesNothing);
    }

    [Fact]
    public void GivenEveryStandingOfAMessage_WhenExplained_ThenTheAdviceChangesNothing()
    {
        foreach (ConsumptionStatus status in Enum.GetValues<ConsumptionStatus>())
        {
            var facts = new Explanation
            {
                Topic = "orders",
                Group = "billing",
                Offset = 4711,
                Queue = new QueueDescription(
                    2, 0, new QueueId(1), QueueState.Readable, new QueueOffset(0), new QueueOffset(5_000), 1, 1),
                Status = status,
                Member = new MemberDescription(
                    Guid.NewGuid(), null, "till-1", "", TimeSpan.Zero, TimeSpan.Zero, [], 1, 0),
            };
            Assert.All(ExplanationSentences.Of(facts), AssertChangesNothing);
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
            if (Path.GetFileName(path) is "ShellScripts.cs" or "CompletionCommands.cs")
                continue;
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

    /// <summary>Of every program and library: what a person reads and types.</summary>
    [Fact]
    public void GivenEveryTextOfTheSources_WhenItNamesACommand_ThenItsVerbAndOptionsExist()
    {
        int commands = 0, options = 0;
        foreach (SourceText text in SourceText.Of(Rooms))
        {
            if (Path.GetFileName(text.File) is "ShellScripts.cs" or "CompletionCommands.cs")
                continue;
            foreach (Match match in CommandPattern().Matches(ExamplePattern().Replace(text.Text, "")))
            {
                string words = match.Groups["words"].Value;
                string? verb = AllVerbs.FirstOrDefault(one => $"{words} ".StartsWith(one + " ", StringComparison.Ordinal));
                Assert.True(verb is not null, $"{text.File}: equeue {words}");
                commands++;
                foreach (Match option in OptionPattern().Matches(words))
                {
                    Assert.True(OptionsOf(verb).Contains(option.Value), $"{text.File}: equeue {words}: {option.Value}");
                    options++;
                }
            }
        }

        Assert.True(commands > 20 && options > 5, $"{commands} commands, {options} options");
    }

    [Fact]
    public void GivenEveryTextOfTheProgram_WhenItNamesAnOption_ThenSomeVerbHasIt()
    {
        HashSet<string> known = [.. AllVerbs.SelectMany(OptionsOf)];
        string[] named =
        [
            .. SourceText.Of("Cli").Where(static text => !IsOfTheServer(text.Text)).SelectMany(text => OptionPattern().Matches(text.Text)).Select(option => option.Value)
                .Distinct(),
        ];
        Assert.True(named.Length > 40, $"{named.Length}");
        Assert.Empty(named.Except(known));
    }

    [Fact]
    public void GivenEveryExample_WhenTypedAsItStands_ThenItIsUnderstood()
    {
        foreach (string verb in AllVerbs)
        {
            string text = Find(verb).Description!;
            string example = text[(text.IndexOf("Example: ", StringComparison.Ordinal) + "Example: ".Length)..];
            // What a shell does with it is the shell's.
            Match inside = Substitution().Match(example);
            string command = inside.Success ? inside.Groups["command"].Value : example.Split([" | ", " > "], StringSplitOptions.None)[0];
            string[] words = [.. Word().Matches(command).Select(static word => word.Value.Trim('\''))];
            Assert.Equal("equeue", words[0]);
            Assert.True(words.Length > 1, example);
            System.CommandLine.ParseResult parsed = CliVerbs.Root().Parse(words[1..], CliVerbs.Configuration);
            Assert.True(parsed.Errors.Count == 0, $"{example}: {string.Join(' ', parsed.Errors)}");
            Assert.NotEqual("equeue", parsed.CommandResult.Command.Name);
        }
    }

    [Theory]
    [InlineData("Start a reader, or try: equeue consume orders --group billing")]
    [InlineData("equeue topic alter orders --retention-age 1d; see equeue topic list")]
    [InlineData("is still there: equeue topic delete x --yes")]
    public void GivenAdviceThatChangesSomething_WhenLookedAt_ThenItIsFound(string advice) =>
        Assert.False(ChangesNothing(advice));

    private static System.CommandLine.Command Find(string verb)
    {
        System.CommandLine.Command command = CliVerbs.Root();
        foreach (string word in verb.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            command = command.Subcommands.Single(one => one.Name == word);
        return command;
    }

    /// <summary>Its own, and those of every verb.</summary>
    private static IEnumerable<string> OptionsOf(string verb) =>
        Find(verb).Options.Concat(CliVerbs.Root().Options).SelectMany(static option => option.Aliases.Append(option.Name))
            .Append("--help");

    private static void AssertChangesNothing(string advice) => Assert.True(ChangesNothing(advice), advice);

    /// <summary>A command line of the other program.</summary>
    private static bool IsOfTheServer(string text) =>
        text.TrimStart('$', '"').StartsWith("equeue-server ", StringComparison.Ordinal);

    private static bool ChangesNothing(string advice) => AdvicePattern().Matches(advice).All(static match =>
    {
        string words = match.Groups["words"].Value;
        string? verb = Verbs.FirstOrDefault(one => words.StartsWith(one, StringComparison.Ordinal));
        return words.Contains("--help", StringComparison.Ordinal) || (verb is not null && ReadOnlyVerbs.Contains(verb));
    });

    [GeneratedRegex(@"equeue (?<words>(topic|send|consume|forward|find|explain|group|top|quota|user|token|acl|perf|context|log|backup|restore|completion|cluster)\b[^;,:.""]*)")]
    private static partial Regex AdvicePattern();

    /// <summary>A command up to the end of what is said of it; a verb is a lower-case word, so a wrong one is
    /// found.</summary>
    [GeneratedRegex(@"(?<![\w./'-])'?equeue (?<words>[a-z][a-z-]*\b(?:\{[^}]*\}|[^;,:.""')])*)")]
    private static partial Regex CommandPattern();

    [GeneratedRegex(@"(?<![\w-])--[a-z][a-z-]*[a-z]")]
    private static partial Regex OptionPattern();

    [GeneratedRegex(@"<\((?<command>equeue [^)]*)\)")]
    private static partial Regex Substitution();

    [GeneratedRegex(@"'[^']*'|\S+")]
    private static partial Regex Word();

    [GeneratedRegex(@"""(?:[^""\\\n]|\\.)*""(?:\s*\+\s*\$?""(?:[^""\\\n]|\\.)*"")*")]
    private static partial Regex TextPattern();

    [GeneratedRegex(@"Example: .*", RegexOptions.Singleline)]
    private static partial Regex ExamplePattern();
}
