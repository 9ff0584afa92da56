using System.CommandLine;

namespace EQueue.Cli.Tests;

/// <summary>The help of every verb there is.</summary>
public sealed class HelpTests
{
    [Fact]
    public async Task GivenEachVerb_WhenItsHelpIsAskedFor_ThenItHasAnExampleThatCanBeRead()
    {
        using var error = new StringWriter();
        var configuration = new ParserConfiguration { ResponseFileTokenReplacer = null, EnablePosixBundling = false };
        RootCommand root = CliProgram.CreateRoot(
            new CliStreams(Stream.Null, Stream.Null, error, IsTerminal: false), configuration);
        string[][] verbs = [.. Walk(root, [])];
        Assert.True(verbs.Length > 30, $"{verbs.Length} verbs");
        foreach (string[] verb in verbs)
        {
            CliRun run = await CliRun.RunAsync([.. verb, "--help"]);
            Assert.Equal(ExitCode.Done, run.ExitCode);
            string help = run.OutputText.ReplaceLineEndings(" ");
            string words = string.Join(' ', verb);
            Assert.True(help.Contains("Example: ", StringComparison.Ordinal), $"no example: {words}");
            string example = help[help.IndexOf("Example: ", StringComparison.Ordinal)..];
            Assert.True(example.Contains($"equeue {words}".TrimEnd(), StringComparison.Ordinal), $"{words}: {example}");
        }
    }

    private static IEnumerable<string[]> Walk(Command command, string[] path) =>
        [path, .. command.Subcommands.Where(inner => !inner.Hidden).SelectMany(
            inner => Walk(inner, [.. path, inner.Name]))];
}
