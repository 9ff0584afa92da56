using System.CommandLine;
using EQueue.Cli.Commands;
using EQueue.Cli.Output;

namespace EQueue.Cli;

/// <summary>The command line as a function: arguments and streams in, exit code out.</summary>
internal static class CliProgram
{
    public static async Task<int> RunAsync(
        string[] arguments, CliStreams streams, CancellationToken cancellationToken)
    {
        var options = new GlobalOptions();
        RootCommand root = CreateRoot(options, streams);
        ParseResult parsed = root.Parse(arguments, new ParserConfiguration
        {
            // A body may begin with @ or be -abc: it is never a file of arguments or a bundle of flags.
            ResponseFileTokenReplacer = null,
            EnablePosixBundling = false,
        });
        var errors = new ErrorReport(streams.Error, IsJson: arguments.TakeWhile(a => a != "--").Contains("--json"));
        if (parsed.Errors.Count > 0)
        {
            errors.Write(new UsageException(string.Join(' ', parsed.Errors.Select(error => error.Message))));
            return ExitCode.Usage;
        }

        try
        {
            await using var output = new StreamWriter(streams.Output, leaveOpen: true);
            var invocation = new InvocationConfiguration
            {
                EnableDefaultExceptionHandler = false,
                ProcessTerminationTimeout = null,
                Output = output,
                Error = streams.Error,
            };
            return await parsed.InvokeAsync(invocation, cancellationToken);
        }
        catch (IOException) when (IsClosed(streams.Output))
        {
            return ExitCode.Done;
        }
        catch (Exception exception)
        {
            errors.Write(exception);
            return ExitCode.Of(exception);
        }
    }

    private static RootCommand CreateRoot(GlobalOptions options, CliStreams streams)
    {
        var root = new RootCommand(
            "Sends and reads messages of an EQueue broker, and looks after its topics, groups and logs.");
        options.AddTo(root);
        root.Subcommands.Add(TopicCommands.Create(options, streams));
        root.Subcommands.Add(SendCommand.Create(options, streams));
        root.Subcommands.Add(ConsumeCommand.Create(options, streams));
        root.Subcommands.Add(ForwardCommand.Create(options, streams));
        root.Subcommands.Add(FindCommand.Create(options, streams));
        root.Subcommands.Add(GroupCommands.Create(options, streams));
        root.Subcommands.Add(QuotaCommands.Create(options, streams));
        root.Subcommands.Add(LogCommands.Create(options, streams));
        return root;
    }

    /// <summary>Whether the reader of our output has gone, as <c>head</c> does: nothing is wrong then.</summary>
    private static bool IsClosed(Stream output)
    {
        try
        {
            output.Write([]);
            output.Flush();
            return false;
        }
        catch (IOException)
        {
            return true;
        }
    }
}
