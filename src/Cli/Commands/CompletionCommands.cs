using System.CommandLine;
using System.Text;
using EQueue.Cli.Completing;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;

namespace EQueue.Cli.Commands;

/// <summary><c>completion bash | zsh | pwsh</c>: has shells complete command lines.</summary>
internal static class CompletionCommands
{
    public static Command Create(
        GlobalOptions options, CliStreams streams, RootCommand root, ParserConfiguration configuration)
    {
        var completion = new Command(
            "completion",
            "Prints what has a shell complete command lines: commands, options, topics, groups. "
            + "Example: source <(equeue completion bash)")
        {
            Script("bash", "source <(equeue completion bash)", ShellScripts.Bash, streams),
            Script("zsh", "source <(equeue completion zsh)", ShellScripts.Zsh, streams),
            Script(
                "pwsh", "equeue completion pwsh | Out-String | Invoke-Expression", ShellScripts.PowerShell, streams),
        };
        completion.Subcommands.Add(CreateSuggest(streams, root, configuration));
        TimeSpan patience = DurationText.TryRead(streams.Variable("EQUEUE_COMPLETION_TIMEOUT") ?? "")
            ?? BrokerNames.UsualPatience;
        new BrokerNames(options, patience).AddTo(root);
        ArgumentTurns.AddTo(root);
        return completion;
    }

    private static Command Script(string shell, string example, string script, CliStreams streams)
    {
        var command = new Command(shell, $"Prints the script for {shell}. Example: {example}");
        command.SetAction(_ =>
        {
            streams.Output.Write(Encoding.UTF8.GetBytes(script.ReplaceLineEndings("\n") + "\n"));
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateSuggest(CliStreams streams, RootCommand root, ParserConfiguration configuration)
    {
        var line = new Argument<string>("line") { Description = "The line up to the cursor." };
        var command = new Command(
            "suggest", "Prints what may come next, a word a line. Example: equeue completion suggest -- 'equeue top'")
        {
            line,
        };
        command.Hidden = true;
        command.SetAction(parsed =>
        {
            foreach (string word in Suggestions.Of(root, configuration, parsed.GetRequiredValue(line)))
                streams.Output.Write(Encoding.UTF8.GetBytes(word + "\n"));
            return ExitCode.Done;
        });
        return command;
    }
}
