using System.CommandLine;
using System.CommandLine.Completions;
using System.CommandLine.Parsing;

namespace EQueue.Cli.Completing;

/// <summary>Has each argument of a command suggest words only where it stands: System.CommandLine asks all of them,
/// whichever is next.</summary>
internal static class ArgumentTurns
{
    /// <summary>To be called when all sources are there.</summary>
    public static void AddTo(Command command)
    {
        if (command.Arguments.Count > 1)
        {
            foreach (Argument argument in command.Arguments)
            {
                Func<CompletionContext, IEnumerable<CompletionItem>>[] sources = [.. argument.CompletionSources];
                argument.CompletionSources.Clear();
                argument.CompletionSources.Add(
                    context => IsNext(argument, context) ? sources.SelectMany(source => source(context)) : []);
            }
        }

        foreach (Command inner in command.Subcommands)
            AddTo(inner);
    }

    private static bool IsNext(Argument argument, CompletionContext context)
    {
        CommandResult result = context.ParseResult.CommandResult;
        int typed = result.Command.Arguments.Sum(one => result.GetResult(one)?.Tokens.Count ?? 0);
        // The word under the cursor is one of them.
        if (context.WordToComplete.Length > 0)
            typed--;
        int before = 0;
        foreach (Argument one in result.Command.Arguments)
        {
            int most = one.Arity.MaximumNumberOfValues;
            if (one == argument)
                return typed >= before && typed - before < most;
            before += most;
        }

        return false;
    }
}
