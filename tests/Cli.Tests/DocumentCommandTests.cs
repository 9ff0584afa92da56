using System.CommandLine;
using System.Text;
using System.Text.RegularExpressions;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>Command lines that documents show can be typed: each is read by the command line itself.</summary>
public sealed partial class DocumentCommandTests
{
    [Fact]
    public void GivenEveryDocument_WhenACommandLineInItIsRead_ThenItHasNoMistake()
    {
        int read = 0;
        RootCommand root = CliVerbs.Root();
        foreach (string document in Documents())
        {
            foreach (string line in CommandsOf(document))
            {
                string[] errors = [.. root.Parse(Words(line), CliVerbs.Configuration).Errors.Select(error => error.Message)];
                Assert.True(errors.Length == 0, $"{document}: equeue {line}: {string.Join(' ', errors)}");
                read++;
            }
        }

        Assert.True(read > 60, $"{read}");
    }

    [Theory]
    [InlineData("equeue send t 'one coffee' | head -3", "send t 'one coffee'")]
    [InlineData("$ equeue topic list   # all", "topic list")]
    [InlineData("EQUEUE_USER=alice sudo -u equeue equeue user list", "user list")]
    [InlineData("out/equeue send t < file", "send t")]
    [InlineData("source <(equeue completion bash)", "completion bash")]
    [InlineData("equeue-server --data d", null)]
    public void GivenALineOfADocument_WhenLookedAt_ThenTheCommandInItIsFound(string line, string? expected) =>
        Assert.Equal(expected, CommandIn(line));

    private static IEnumerable<string> Documents() =>
    [
        "README.md", "SECURITY.md", "samples/README.md",
        .. Directory.EnumerateFiles(Path.Combine(ProgramFiles.Root, "docs"), "*.md")
            .Select(static path => $"docs/{Path.GetFileName(path)}"),
    ];

    private static IEnumerable<string> CommandsOf(string document) => DocumentFile.Read(document).Blocks
        .Where(static block => block.Language is "" or "sh" or "bash" or "console")
        .SelectMany(TypedOf)
        .Select(CommandIn)
        .OfType<string>()
        // What is to be put in by the reader, or tells a form and no command.
        .Where(static command => command.IndexOfAny(['[', '|', '…']) < 0 && !command.Contains("...", StringComparison.Ordinal));

    /// <summary>Lines that are typed: those behind a prompt when there is one.</summary>
    private static IEnumerable<string> TypedOf(CodeBlock block)
    {
        string[] lines = block.Text.Replace("\\\n", " ", StringComparison.Ordinal).Split('\n');
        bool hasPrompt = lines.Any(static line => line.StartsWith("$ ", StringComparison.Ordinal));
        return lines.Where(line => !hasPrompt || line.StartsWith("$ ", StringComparison.Ordinal));
    }

    /// <summary>What follows the program's name, up to the end of the command.</summary>
    private static string? CommandIn(string line)
    {
        Match match = ProgramPattern().Match(line);
        if (!match.Success)
            return null;
        string rest = line[(match.Index + match.Length)..];
        char quote = '\0';
        int end = 0;
        for (; end < rest.Length; end++)
        {
            char one = rest[end];
            if (quote != '\0')
                quote = one == quote ? '\0' : quote;
            else if (one is '\'' or '"')
                quote = one;
            else if (one is '|' or '>' or '<' or ')' or ';' or '&' or '`')
                break;
            else if (one == '#' && rest[end - 1] == ' ')
                break;
        }

        return rest[..end].Trim();
    }

    private static string[] Words(string line)
    {
        var words = new List<string>();
        StringBuilder? word = null;
        char quote = '\0';
        foreach (char one in line)
        {
            if (quote != '\0' && one == quote)
            {
                quote = '\0';
            }
            else if (quote == '\0' && one is '\'' or '"')
            {
                (quote, word) = (one, word ?? new StringBuilder());
            }
            else if (quote == '\0' && one == ' ')
            {
                if (word is not null)
                    words.Add(word.ToString());
                word = null;
            }
            else
            {
                (word ??= new StringBuilder()).Append(one);
            }
        }

        if (word is not null)
            words.Add(word.ToString());
        return [.. words];
    }

    [GeneratedRegex(@"(?<=^|[\s(`]|out/)equeue[ ]+(?=[a-z]|--)(?!equeue[ ])")]
    private static partial Regex ProgramPattern();
}
