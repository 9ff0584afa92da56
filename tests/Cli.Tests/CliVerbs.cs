using System.CommandLine;
using EQueue.Cli.Connecting;

namespace EQueue.Cli.Tests;

/// <summary>The verbs that there are, read from the command line itself.</summary>
internal static class CliVerbs
{
    /// <summary>Those that do something, as they are written: <c>topic create</c>.</summary>
    public static IEnumerable<string> All() =>
        Walk(Root(), []).Where(static path => path.IsLeaf).Select(static path => string.Join(' ', path.Words));

    /// <summary>How command lines are read.</summary>
    public static ParserConfiguration Configuration { get; } =
        new() { ResponseFileTokenReplacer = null, EnablePosixBundling = false };

    public static RootCommand Root()
    {
        var streams = new CliStreams(Stream.Null, Stream.Null, TextWriter.Null, IsTerminal: false)
        {
            Variable = _ => null,
        };
        return CliProgram.CreateRoot(new GlobalOptions(streams), streams, Configuration);
    }

    private static IEnumerable<(string[] Words, bool IsLeaf)> Walk(Command command, string[] path) =>
    [
        (path, command.Subcommands.Count == 0),
        .. command.Subcommands.Where(static inner => !inner.Hidden)
            .SelectMany(inner => Walk(inner, [.. path, inner.Name])),
    ];
}
