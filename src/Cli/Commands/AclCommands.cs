using System.CommandLine;
using EQueue.Cli.Access;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>acl allow | deny | remove | list | test | grant</c>: who may do what.</summary>
internal static class AclCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var acl = new Command(
            "acl",
            "Sets, removes, lists and tests the rules of who may do what. "
            + "Example: equeue acl allow user:shop write topic:orders");
        acl.Subcommands.Add(CreateSet(
            RuleEffect.Allow,
            "Lets a principal do something, unless a rule denies it. "
            + "Example: equeue acl allow user:shop write 'topic:orders*'",
            options,
            streams));
        acl.Subcommands.Add(CreateSet(
            RuleEffect.Deny,
            "Keeps a principal from something, whatever other rules allow. "
            + "Example: equeue acl deny anonymous all 'topic:*'",
            options,
            streams));
        acl.Subcommands.Add(CreateRemove(options, streams));
        acl.Subcommands.Add(CreateList(options, streams));
        acl.Subcommands.Add(CreateTest(options, streams));
        acl.Subcommands.Add(AclGrantCommand.Create(options, streams));
        return acl;
    }

    internal static Argument<string> PrincipalArgument() => new("principal")
    {
        Description = "user:NAME, group:NAME, cert:NAME, local:UID, anonymous, or '*' for everybody.",
        CustomParser = PrincipalText.Parse,
        CompletionSources = { PrincipalText.Beginnings.ToArray() },
    };

    private static Argument<Permission> OperationArgument()
    {
        var argument = new Argument<Permission>("operation")
        {
            Description = $"{string.Join(", ", PermissionText.Words)}.",
            HelpName = "operation",
            CustomParser = PermissionText.Parse,
        };
        // Those of the type are spelled as the code does.
        argument.CompletionSources.Clear();
        argument.CompletionSources.Add([.. PermissionText.Words]);
        return argument;
    }

    private static Argument<AccessResource> ResourceArgument() => new("resource")
    {
        Description = "topic:NAME, group:NAME, or broker; a '*' at the end of the name is any characters.",
        CustomParser = ResourceText.Parse,
        CompletionSources = { ResourceText.Beginnings.ToArray() },
    };

    private static Command CreateSet(RuleEffect effect, string description, GlobalOptions options, CliStreams streams)
    {
        Argument<string> principal = PrincipalArgument();
        Argument<Permission> operation = OperationArgument();
        Argument<AccessResource> resource = ResourceArgument();
        Option<bool> yes = Agreement.Option();
        var command = new Command(effect.ToString().ToLowerInvariant(), description)
        {
            principal, operation, resource, yes,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            AccessResource about = parsed.GetRequiredValue(resource);
            Permission permission = parsed.GetRequiredValue(operation);
            PermissionText.Demand(permission, about.Kind);
            var rule = new AccessRule(
                effect, parsed.GetRequiredValue(principal), permission, about.Kind, about.Name);
            await using EQueueClient client = options.CreateClient(parsed);
            return await SetAsync(
                client.Admin, [rule], parsed.GetValue(yes), streams, options.IsJson(parsed), cancellationToken);
        });
        return command;
    }

    /// <summary>Sets rules; asks before the first of all.</summary>
    /// <exception cref="PartlyDoneException">Some are set, and the next one was refused.</exception>
    internal static async Task<int> SetAsync(
        EQueueAdmin admin,
        IReadOnlyList<AccessRule> rules,
        bool isAgreed,
        CliStreams streams,
        bool isJson,
        CancellationToken cancellationToken)
    {
        IReadOnlyList<AccessRule> known = await admin.ListRulesAsync(cancellationToken).ToListAsync(cancellationToken);
        string? warning = await RuleTurn.WarnOfFirstAsync(admin, known, rules, cancellationToken);
        if (warning is not null
            && !await new Agreement(streams, isJson).AskAsync(warning, isAgreed, cancellationToken))
        {
            return ExitCode.Failed;
        }

        var writer = new AccessWriter(streams, isJson);
        for (int i = 0; i < rules.Count; i++)
        {
            try
            {
                await admin.AddRuleAsync(rules[i], cancellationToken);
            }
            catch (EQueueException failure) when (i > 0)
            {
                throw new PartlyDoneException($"Set {i} of {rules.Count} rules: {failure.Message}", failure);
            }

            string done = known.Contains(rules[i]) ? "there already" : "set";
            if (isJson)
                writer.WriteJson(rules[i]);
            else
                await streams.Error.WriteLineAsync($"{done}: {rules[i]}");
        }

        return ExitCode.Done;
    }

    private static Command CreateRemove(GlobalOptions options, CliStreams streams)
    {
        var effect = new Argument<RuleEffect>("effect")
        {
            Description = "allow or deny.",
            HelpName = "allow|deny",
            CustomParser = result =>
            {
                string word = result.Tokens[0].Value;
                if (word == "deny")
                    return RuleEffect.Deny;
                if (word != "allow")
                    result.AddError($"'{word}' is no effect of a rule: allow or deny.");
                return RuleEffect.Allow;
            },
        };
        effect.CompletionSources.Clear();
        effect.CompletionSources.Add("allow", "deny");
        Argument<string> principal = PrincipalArgument();
        Argument<Permission> operation = OperationArgument();
        Argument<AccessResource> resource = ResourceArgument();
        Option<bool> yes = Agreement.Option();
        Option<bool> preview = DryRunOption.Create();
        var command = new Command(
            "remove",
            "Removes a rule, named as it was set. "
            + "Example: equeue acl remove allow user:shop write 'topic:orders*'")
        {
            effect, principal, operation, resource, yes, preview,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            AccessResource about = parsed.GetRequiredValue(resource);
            var rule = new AccessRule(
                parsed.GetRequiredValue(effect), parsed.GetRequiredValue(principal),
                parsed.GetRequiredValue(operation), about.Kind, about.Name);
            await using EQueueClient client = options.CreateClient(parsed);
            return await RemoveAsync(
                client.Admin, rule, parsed.GetValue(yes), parsed.GetValue(preview), streams, options.IsJson(parsed),
                cancellationToken);
        });
        return command;
    }

    private static async Task<int> RemoveAsync(
        EQueueAdmin admin,
        AccessRule rule,
        bool isAgreed,
        bool isPreview,
        CliStreams streams,
        bool isJson,
        CancellationToken cancellationToken)
    {
        IReadOnlyList<AccessRule> known = await admin.ListRulesAsync(cancellationToken).ToListAsync(cancellationToken);
        if (!known.Contains(rule))
        {
            string? question = Nearest.Ask($"{rule}", known.Select(static one => $"{one}"));
            throw new NothingFoundException($"There is no rule '{rule}'. {question}".TrimEnd());
        }

        string? warning = RuleTurn.WarnOfLast(known, rule);
        if (isPreview)
        {
            if (isJson)
                new AccessWriter(streams, isJson).WriteJson(rule);
            if (warning is not null)
                await streams.Error.WriteLineAsync(warning);
            await streams.Error.WriteLineAsync($"would be removed: {rule}; nothing was changed");
            return ExitCode.Done;
        }

        if (warning is not null
            && !await new Agreement(streams, isJson).AskAsync(warning, isAgreed, cancellationToken))
        {
            return ExitCode.Failed;
        }

        await admin.RemoveRuleAsync(rule, cancellationToken);
        if (isJson)
            new AccessWriter(streams, isJson).WriteJson(rule);
        else
            await streams.Error.WriteLineAsync($"removed: {rule}");
        return ExitCode.Done;
    }

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        Argument<string?> principal = new("principal")
        {
            Description = "Only rules that name it.",
            Arity = ArgumentArity.ZeroOrOne,
            CustomParser = PrincipalText.Parse,
        };
        var command = new Command("list", "Lists the rules. Example: equeue acl list --json") { principal };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string? only = parsed.GetValue(principal);
            await using EQueueClient client = options.CreateClient(parsed);
            List<AccessRule> rules =
                await client.Admin.ListRulesAsync(cancellationToken).ToListAsync(cancellationToken);
            bool isJson = options.IsJson(parsed);
            new AccessWriter(streams, isJson).Write(
                only is null ? rules : [.. rules.Where(rule => rule.Principal == only)]);
            if (rules.Count == 0 && streams.IsTerminal && !isJson)
                await streams.Error.WriteLineAsync("there are no rules: everybody who is admitted may do everything");
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateTest(GlobalOptions options, CliStreams streams)
    {
        Argument<string> principal = new("principal")
        {
            Description = "Who would do it: user:NAME, cert:NAME, local:UID, anonymous, owner; me = who asks.",
            CustomParser = PrincipalText.ParseOne,
            CompletionSources = { PrincipalText.BeginningsOfOne.ToArray() },
        };
        Argument<Permission> operation = OperationArgument();
        Argument<AccessResource> resource = ResourceArgument();
        var command = new Command(
            "test",
            "Tells what would be decided, and by which rule; ends with 1 when it is denied. "
            + "Example: equeue acl test user:shop write topic:orders")
        {
            principal, operation, resource,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            Permission permission = parsed.GetRequiredValue(operation);
            AccessResource about = parsed.GetRequiredValue(resource);
            if (permission == Permission.All)
                throw new UsageException("Name one operation: each is decided by itself.");
            if (about.IsPattern)
                throw new UsageException("Name one resource: each is decided by itself.");
            PermissionText.Demand(permission, about.Kind);
            await using EQueueClient client = options.CreateClient(parsed);
            AccessDecision found = await client.Admin.TestAccessAsync(
                parsed.GetRequiredValue(principal), permission, about.Kind, about.Name, cancellationToken);
            new AccessWriter(streams, options.IsJson(parsed)).Write(found, permission, about);
            return found.IsAllowed ? ExitCode.Done : ExitCode.Failed;
        });
        return command;
    }
}
