using System.CommandLine;

namespace EQueue.Cli.Tests;

/// <summary>The verbs that there are, read from the command line itself.</summary>
internal static class CliVerbs
{
    /// <summary>Those that do something, as they are written: <c>topic create</c>.</summary>
    public static IEnumerable<string> All() =>
        Walk(Root(), []).Where(static path => path.IsLeaf).Select(static path => string.Join(' ', path.Words));

    public static ParserConfiguration Configuration { get; } =
        new() { ResponseFileTokenReplacer = null, EnablePosixBundling = false };

    public static RootCommand Root() => CliProgram.CreateRoot(
        new CliStreams(Stream.Null, Stream.Null, TextWriter.Null, IsTerminal: false) { Variable = _ => null },
        Configuration);

    private static IEnumerable<(string[] Words, bool IsLeaf)> Walk(Command command, string[] path) =>
    [
        (path, command.Subcommands.Count == 0),
        .. command.Subcommands.Where(static inner => !inner.Hidden)
            .SelectMany(inner => Walk(inner, [.. path, inner.Name])),
    ];
}
