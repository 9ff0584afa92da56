using System.CommandLine;
using System.CommandLine.Help;
using EQueue.Cli.Input;

namespace EQueue.Cli.Output;

/// <summary>What <c>--help</c> prints: of a verb its own options, of the program those that verbs share.</summary>
/// <param name="output">Where it is printed.</param>
/// <param name="width">Characters in a line.</param>
internal sealed class HelpText(TextWriter output, int width)
{
    private const string Program = "equeue";
    private const int WidestLabel = 36;

    /// <summary>They ask no broker: options of servers are none of theirs.</summary>
    private static readonly string[] Local = ["backup", "completion", "context", "log", "restore"];

    /// <summary>The words that call a command, the program's name first.</summary>
    public static IReadOnlyList<string> WordsOf(Command command)
    {
        var words = new List<string>();
        for (Command? at = command; at is not (null or RootCommand); at = at.Parents.OfType<Command>().FirstOrDefault())
            words.Insert(0, at.Name);
        return [Program, .. words];
    }

    public void Write(Command command, RootCommand root)
    {
        IReadOnlyList<string> words = WordsOf(command);
        WriteSection("Description:", [(command.Description ?? "", "")]);
        WriteSection("Usage:", [(Usage(command, words), "")]);
        WriteSection("Arguments:", [.. command.Arguments.Where(static one => !one.Hidden).Select(Row)]);
        WriteSection("Commands:", [.. command.Subcommands.Where(static one => !one.Hidden).Select(Row)]);
        // context add keeps what the options of servers say.
        bool keepsServers = words is [_, "context", "add"];
        IEnumerable<Option> shared = root.Options.Where(static one => one.Recursive && one is not HelpOption);
        IEnumerable<Option> own = command is RootCommand
            ? command.Options.Where(static one => !one.Recursive || one is HelpOption) : command.Options;
        WriteSection("Options:", [.. own.Where(static one => !one.Hidden).Select(Row), .. command is RootCommand
            ? [] : root.Options.OfType<HelpOption>().Select(Row)]);
        if (command is RootCommand || keepsServers)
        {
            WriteSection("Options of every command:", [.. shared.Select(Row)]);
            return;
        }

        bool isLocal = words.Count > 1 && Local.Contains(words[1]);
        string rest = isLocal ? "--json, as with every command"
            : words is [_, "cluster", ..] ? "--json and those of TLS with the nodes"
            : "--json, --server and those of TLS, credentials and time-outs";
        output.WriteLine($"{rest}: {Program} --help");
    }

    private static string Usage(Command command, IReadOnlyList<string> words)
    {
        var parts = new List<string>(words);
        if (command.Subcommands.Any(static one => !one.Hidden))
            parts.Add("[command]");
        foreach (Argument argument in command.Arguments.Where(static one => !one.Hidden))
        {
            string many = argument.Arity.MaximumNumberOfValues > 1 ? "..." : "";
            string label = $"<{argument.Name}>{many}";
            parts.Add(argument.Arity.MinimumNumberOfValues == 0 ? $"[{label}]" : label);
        }

        parts.Add("[options]");
        return string.Join(' ', parts);
    }

    private static (string Label, string Text) Row(Argument argument) =>
        ($"<{argument.HelpName ?? argument.Name}>", argument.Description ?? "");

    private static (string Label, string Text) Row(Command command) =>
        (command.Name, Purpose(command.Description ?? ""));

    /// <summary>A description without its example, which the verb's own help has.</summary>
    private static string Purpose(string description)
    {
        int example = description.IndexOf(" Example: ", StringComparison.Ordinal);
        return example < 0 ? description : description[..example];
    }

    private static (string Label, string Text) Row(Option option)
    {
        string names = string.Join(
            ", ", option.Aliases.Where(static alias => !alias.StartsWith('/')).Append(option.Name));
        string label = option.HelpName is { } value ? $"{names} <{value}>" : names;
        string usual = option.HasDefaultValue && Usual(option.GetDefaultValue()) is { } text
            ? $" [default: {text}]" : "";
        string required = option.Required ? " (required)" : "";
        return (label, option.Description + required + usual);
    }

    /// <summary>A default as it would be typed.</summary>
    private static string? Usual(object? value) => value switch
    {
        null or false => null,
        TimeSpan time => DurationText.Of(time),
        _ => value.ToString(),
    };

    private void WriteSection(string title, (string Label, string Text)[] rows)
    {
        if (rows.Length == 0)
            return;
        output.WriteLine(title);
        int column = rows.Max(
            static row => row.Text.Length == 0 || row.Label.Length > WidestLabel ? 0 : row.Label.Length);
        foreach ((string label, string text) in rows)
        {
            if (text.Length == 0)
            {
                WriteLines("  ", 2, label);
                continue;
            }

            bool isWide = label.Length > WidestLabel;
            if (isWide)
                output.WriteLine($"  {label}");
            WriteLines(isWide ? new string(' ', column + 4) : $"  {label.PadRight(column)}  ", column + 4, text);
        }

        output.WriteLine();
    }

    /// <summary>A text cut at spaces, all lines but the first behind an indent.</summary>
    private void WriteLines(string head, int indent, string text)
    {
        int room = Math.Max(20, width - indent);
        while (text.Length > room)
        {
            int cut = text.LastIndexOf(' ', room);
            if (cut <= 0)
                cut = text.IndexOf(' ', StringComparison.Ordinal);
            if (cut <= 0)
                break;
            output.WriteLine(head + text[..cut]);
            head = new string(' ', indent);
            text = text[(cut + 1)..];
        }

        output.WriteLine(head + text);
    }
}
