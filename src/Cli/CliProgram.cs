using System.CommandLine;
using System.CommandLine.Help;
using EQueue.Cli.Commands;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
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
        var options = new GlobalOptions(streams);
        RootCommand root = CreateRoot(options, streams, configuration);
        ParseResult parsed = root.Parse(arguments, configuration);
        var errors = new ErrorReport(streams.Error, IsJson: arguments.TakeWhile(a => a != "--").Contains("--json"));
        if (parsed.Errors.Count > 0)
        {
            IEnumerable<string?> messages =
                [.. parsed.Errors.Select(static error => error.Message), MeantBy(parsed, root)];
            errors.Write(new UsageException(string.Join(' ', messages.OfType<string>())), next: HelpOf(parsed));
            return ExitCode.Usage;
        }

        try
        {
            await using var output = new StreamWriter(streams.Output, leaveOpen: true);
            if (parsed.Action is HelpAction)
            {
                new HelpText(output, streams.IsTerminal ? streams.Width : int.MaxValue)
                    .Write(parsed.CommandResult.Command, root);
                return ExitCode.Done;
            }

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
            string? next = exception is UsageException ? HelpOf(parsed) : NextStep.Of(exception, options.Identity);
            errors.Write(exception, next: next);
            return ExitCode.Of(exception);
        }
    }

    /// <summary>All commands.</summary>
    public static RootCommand CreateRoot(GlobalOptions options, CliStreams streams, ParserConfiguration configuration)
    {
        var root = new RootCommand(
            "Sends and reads messages of an EQueue broker, and looks after its topics, groups, users and logs. "
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
        root.Subcommands.Add(UserCommands.Create(options, streams));
        root.Subcommands.Add(TokenCommands.Create(options, streams));
        root.Subcommands.Add(AclCommands.Create(options, streams));
        root.Subcommands.Add(PerfCommand.Create(options, streams));
        root.Subcommands.Add(ContextCommands.Create(options, streams));
        root.Subcommands.Add(LogCommands.Create(options, streams));
        root.Subcommands.Add(BackupCommands.CreateBackup(options, streams));
        root.Subcommands.Add(BackupCommands.CreateRestore(options, streams));
        root.Subcommands.Add(ClusterCommands.Create(options, streams));
        // The last one: it knows all the others.
        root.Subcommands.Add(CompletionCommands.Create(options, streams, root, configuration));
        return root;
    }

    private static string HelpOf(ParseResult parsed)
    {
        string words = string.Join(' ', HelpText.WordsOf(parsed.CommandResult.Command));
        return $"{words} --help shows what it takes";
    }

    /// <summary>The verb or option that a word that there is not comes near to.</summary>
    private static string? MeantBy(ParseResult parsed, RootCommand root)
    {
        Command command = parsed.CommandResult.Command;
        string[] verbs = [.. command.Subcommands.Where(static one => !one.Hidden).Select(static one => one.Name)];
        string[] options =
            [.. command.Options.Concat(root.Options.Where(static one => one.Recursive)).Select(static one => one.Name)];
        return parsed.UnmatchedTokens
            .Select(word => Nearest.Ask(word.Split('=')[0], word.StartsWith('-') ? options : verbs))
            .FirstOrDefault(static question => question is not null);
    }
}
