using System.CommandLine;

namespace EQueue.Cli.Tests;

/// <summary>The help of every verb there is.</summary>
public sealed class HelpTests
{
    [Fact]
    public async Task GivenEachVerb_WhenItsHelpIsAskedFor_ThenItHasAnExampleThatCanBeRead()
    {
        string[][] verbs = [.. Walk(CliVerbs.Root(), [])];
        Assert.True(verbs.Length > 30, $"{verbs.Length} verbs");
        foreach (string[] verb in verbs)
        {
            string help = await HelpOfAsync(verb);
            string words = string.Join(' ', verb);
            Assert.True(help.Contains("Example: ", StringComparison.Ordinal), $"no example: {words}");
            string example = help[help.IndexOf("Example: ", StringComparison.Ordinal)..];
            Assert.True(example.Contains($"equeue {words}".TrimEnd(), StringComparison.Ordinal), $"{words}: {example}");
        }
    }

    [Fact]
    public async Task GivenEachVerb_WhenItsHelpIsAskedFor_ThenTheProgramHasTheNameThatIsTyped()
    {
        foreach (string[] verb in Walk(CliVerbs.Root(), []))
        {
            string help = await HelpOfAsync(verb);
            Assert.Contains($"Usage:   {string.Join(' ', ["equeue", .. verb])} ", help, StringComparison.Ordinal);
            Assert.DoesNotContain("EQueue.Cli", help, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task GivenTheOptionsOfEveryCommand_WhenHelpIsAskedFor_ThenTheyStandInTheProgramsAlone()
    {
        string[] shared = ["--context <", "--tls   ", "--tls-ca <", "--timeout <"];
        string program = await HelpOfAsync([]);
        Assert.All(shared, option => Assert.Contains(option, program, StringComparison.Ordinal));
        Assert.Contains("[default: 30s]", program, StringComparison.Ordinal);
        foreach (string[] verb in Walk(CliVerbs.Root(), []).Where(static verb => verb is not ([] or ["context", "add"])))
        {
            string help = await HelpOfAsync(verb);
            Assert.All(shared, option => Assert.DoesNotContain(option, help, StringComparison.Ordinal));
            bool isLocal = verb[0] is "context" or "completion" or "log" or "backup" or "restore" or "cluster";
            Assert.Equal(!isLocal, help.Contains("--server and those of TLS", StringComparison.Ordinal));
        }

        Assert.Contains("--tls-ca <", await HelpOfAsync(["context", "add"]), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenEveryOption_WhenHelpIsAskedFor_ThenItIsThere()
    {
        foreach (string[] verb in Walk(CliVerbs.Root(), []))
        {
            Command command = CliVerbs.Root();
            foreach (string word in verb)
                command = command.Subcommands.Single(one => one.Name == word);
            string help = await HelpOfAsync(verb);
            Assert.All(
                command.Options.Where(static option => !option.Hidden),
                option => Assert.Contains(option.Name, help, StringComparison.Ordinal));
        }
    }

    [Fact]
    public async Task GivenANarrowTerminal_WhenHelpIsAskedFor_ThenNoLineIsWider()
    {
        using var output = new MemoryStream();
        var streams = new CliStreams(Stream.Null, output, TextWriter.Null, IsTerminal: true) { Width = 80 };
        await CliProgram.RunAsync(["send", "--help"], streams, CancellationToken.None);
        string[] lines = System.Text.Encoding.UTF8.GetString(output.ToArray()).Split('\n');
        Assert.True(lines.Length > 30, $"{lines.Length} lines");
        Assert.All(lines, line => Assert.True(line.TrimEnd().Length <= 80, line));
    }

    private static async Task<string> HelpOfAsync(string[] verb)
    {
        CliRun run = await CliRun.RunAsync([.. verb, "--help"]);
        Assert.Equal(ExitCode.Done, run.ExitCode);
        Assert.Empty(run.Error);
        return run.OutputText.ReplaceLineEndings(" ");
    }

    private static IEnumerable<string[]> Walk(Command command, string[] path) =>
        [path, .. command.Subcommands.Where(inner => !inner.Hidden).SelectMany(
            inner => Walk(inner, [.. path, inner.Name]))];
}
