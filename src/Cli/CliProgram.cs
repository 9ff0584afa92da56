using System.CommandLine;
using System.CommandLine.Parsing;
using EQueue.Cli.Commands;
using EQueue.Cli.Output;

namespace EQueue.Cli;

/// <summary>The command line as a function: arguments and streams in, exit code out.</summary>
internal static class CliProgram
{
    public static async Task<int> RunAsync(
        string[] arguments, CliStreams ends, CancellationToken cancellationToken)
    {
        CliStreams streams = ends.Guard();
        var configuration = new ParserConfiguration
        {
            // A body may begin with @ or be -abc: it is never a file of arguments or a bundle of flags.
            ResponseFileTokenReplacer = null,
            EnablePosixBundling = false,
        };
        ParseResult parsed = CreateRoot(streams, configuration).Parse(arguments, configuration);
        var errors = new ErrorReport(streams.Error, IsJson: arguments.TakeWhile(a => a != "--").Contains("--json"));
        if (parsed.Errors.Count > 0)
        {
            errors.Write(
                new UsageException(string.Join(' ', parsed.Errors.Select(error => error.Message))),
                next: HelpOf(parsed));
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
        catch (Exception exception) when (OutputClosedException.IsCauseOf(exception))
        {
            return ExitCode.Done;
        }
        catch (Exception exception)
        {
            errors.Write(
                exception, next: exception is UsageException ? HelpOf(parsed) : NextStep.Of(exception));
            return ExitCode.Of(exception);
        }
    }

    /// <summary>All commands.</summary>
    public static RootCommand CreateRoot(CliStreams streams, ParserConfiguration configuration)
    {
        var options = new GlobalOptions(streams.Variable);
        var root = new RootCommand(
            "Sends and reads messages of an EQueue broker, and looks after its topics, groups and logs. "
            + "Example: equeue send orders 'one coffee'");
        options.AddTo(root);
        root.Subcommands.Add(TopicCommands.Create(options, streams));
        root.Subcommands.Add(SendCommand.Create(options, streams));
        root.Subcommands.Add(ConsumeCommand.Create(options, streams));
        root.Subcommands.Add(ForwardCommand.Create(options, streams));
        root.Subcommands.Add(FindCommand.Create(options, streams));
        root.Subcommands.Add(ExplainCommand.Create(options, streams));
        root.Subcommands.Add(GroupCommands.Create(options, streams));
        root.Subcommands.Add(TopCommand.Create(options, streams));
        root.Subcommands.Add(QuotaCommands.Create(options, streams));
        root.Subcommands.Add(PerfCommand.Create(options, streams));
        root.Subcommands.Add(ContextCommands.Create(options, streams));
        root.Subcommands.Add(LogCommands.Create(options, streams));
        root.Subcommands.Add(BackupCommands.CreateBackup(options, streams));
        root.Subcommands.Add(BackupCommands.CreateRestore(options, streams));
        // The last one: it knows all the others.
        root.Subcommands.Add(CompletionCommands.Create(options, streams, root, configuration));
        return root;
    }

    private static string HelpOf(ParseResult parsed)
    {
        var words = new List<string>();
        for (CommandResult? at = parsed.CommandResult; at?.Command is not (null or RootCommand);)
        {
            words.Insert(0, at.Command.Name);
            at = at.Parent as CommandResult;
        }

        return $"{string.Join(' ', ["equeue", .. words])} --help shows what it takes";
    }
}
