using System.CommandLine;
using EQueue.Cli.Access;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>acl grant</c>: the rules of a role at once.</summary>
internal static class AclGrantCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        Argument<string> principal = AclCommands.PrincipalArgument();
        Argument<Role> role = RoleArgument();
        Argument<AccessResource[]> resources = new("resource")
        {
            Description = "topic:NAME, group:NAME, or broker; a '*' at the end of the name is any characters. "
                + "A viewer or an operator has all of them unless some are named.",
            Arity = ArgumentArity.ZeroOrMore,
            CustomParser = ResourceText.ParseMany,
            CompletionSources = { ResourceText.Beginnings.ToArray() },
        };
        Option<bool> yes = Agreement.Option();
        var preview = new Option<bool>("--dry-run") { Description = "Only tells the rules; --yes is not needed." };
        var command = new Command(
            "grant",
            "Sets the rules of a role, which are rules like others. "
            + "Example: equeue acl grant user:billing consumer topic:orders group:billing")
        {
            principal, role, resources, yes, preview,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            IReadOnlyList<AccessRule> rules = parsed.GetRequiredValue(role).RulesFor(
                parsed.GetRequiredValue(principal), parsed.GetValue(resources) ?? []);
            if (parsed.GetValue(preview))
            {
                new AccessWriter(streams, options.IsJson(parsed)).Write(rules);
                await streams.Error.WriteLineAsync("nothing was changed: leave out --dry-run to do it");
                return ExitCode.Done;
            }

            await using EQueueClient client = options.CreateClient(parsed);
            return await AclCommands.SetAsync(
                client.Admin, rules, parsed.GetValue(yes), streams, options.IsJson(parsed), cancellationToken);
        });
        return command;
    }

    private static Argument<Role> RoleArgument()
    {
        string[] names = [.. Role.All.Select(static one => one.Name)];
        string purposes = string.Join("; ", Role.All.Select(static one => $"a {one.Name} {one.Purpose}"));
        return new Argument<Role>("role")
        {
            Description = $"{purposes}.",
            HelpName = string.Join('|', names),
            CustomParser = result =>
            {
                string word = result.Tokens[0].Value;
                Role? found = Role.All.FirstOrDefault(one => one.Name == word);
                if (found is null)
                {
                    string question = $"{Nearest.Ask(word, names)}";
                    result.AddError($"'{word}' is no role: {string.Join(", ", names)}. {question}".TrimEnd());
                }

                return found;
            },
            CompletionSources = { names },
        };
    }
}
