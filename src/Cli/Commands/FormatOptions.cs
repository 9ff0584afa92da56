using System.CommandLine;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary>How messages are printed: <c>--format</c> and <c>--unescaped</c>.</summary>
internal sealed class FormatOptions
{
    private readonly Option<string?> _format = new("--format")
    {
        Description = "raw: body and line feed (the default); text: for people; json: everything, the body in base64.",
        HelpName = "raw|text|json",
    };

    private readonly Option<bool> _unescaped = new("--unescaped")
    {
        Description = "Also on a terminal as it is, control sequences too; elsewhere raw bodies always are.",
    };

    public FormatOptions() => _format.AcceptOnlyFromAmong("raw", "text", "json");

    public void AddTo(Command command)
    {
        command.Options.Add(_format);
        command.Options.Add(_unescaped);
    }

    public MessageFormat Format(ParseResult parsed, bool isJson) =>
        MessageFormats.Read(parsed.GetValue(_format), isJson);

    /// <summary>Where messages go, gathered into large writes. Flush it and do not dispose of it: that would close the
    /// program's standard output.</summary>
    public BufferedStream Open(ParseResult parsed, CliStreams streams) =>
        new(parsed.GetValue(_unescaped) ? streams.ExactOutput : streams.Output, 64 << 10);
}
