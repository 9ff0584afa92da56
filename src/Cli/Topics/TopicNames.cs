using System.CommandLine;
using System.Runtime.CompilerServices;
using System.Text;
using EQueue.Cli.Input;

namespace EQueue.Cli.Topics;

/// <summary>Which topics a command is for: names on the command line, or the lines of a file.</summary>
internal sealed class TopicNames
{
    /// <summary>No name is so long by far.</summary>
    private const int MaxLineBytes = 64 << 10;

    private readonly Argument<string[]> _names = new("topic")
    {
        Description = "The topic's name; several for several topics.",
        HelpName = "T...",
        Arity = ArgumentArity.ZeroOrMore,
    };

    private readonly Option<string?> _lines = new("--lines")
    {
        Description = "Takes the names from a file, or from standard input with -, one a line.",
        HelpName = "FILE|-",
    };

    public void AddTo(Command command)
    {
        command.Arguments.Add(_names);
        command.Options.Add(_lines);
    }

    /// <summary>Whether results and errors must say of which topic they are.</summary>
    /// <exception cref="UsageException">There is no name, or there are two sources of them.</exception>
    public bool AreMany(ParseResult parsed)
    {
        bool hasLines = parsed.GetValue(_lines) is not null;
        int count = parsed.GetValue(_names)?.Length ?? 0;
        if (hasLines == count > 0)
            throw new UsageException("Name one topic or more, or give --lines.");
        return hasLines || count > 1;
    }

    /// <summary>The names, or where they stand, for a sentence.</summary>
    public string Describe(ParseResult parsed) => AreMany(parsed) ? "topics" : parsed.GetValue(_names)![0];

    /// <summary>The names in their order, read as they are needed. Empty lines are none.</summary>
    /// <exception cref="UsageException">A line is longer than any name.</exception>
    public async IAsyncEnumerable<string> ReadAsync(
        ParseResult parsed, Stream input, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await using Stream? stream = LineReader.Open(parsed.GetValue(_lines), input);
        if (stream is null)
        {
            foreach (string name in parsed.GetValue(_names)!)
                yield return name;
            yield break;
        }

        var lines = new LineReader(stream, MaxLineBytes);
        while (await lines.ReadAsync(cancellationToken))
        {
            string name = Encoding.UTF8.GetString(lines.Current.Span).Trim();
            if (name.Length > 0)
                yield return name;
        }
    }
}
