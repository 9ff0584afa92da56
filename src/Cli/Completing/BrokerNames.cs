using System.CommandLine;
using System.CommandLine.Completions;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Protocol;

namespace EQueue.Cli.Completing;

/// <summary>Names of topics, groups, users, tokens and contexts, for those who complete a line.</summary>
/// <remarks>A broker that does not answer in time, or at all, has no names: a prompt must not wait.</remarks>
internal sealed class BrokerNames(GlobalOptions options, TimeSpan patience)
{
    /// <summary>How long a broker has for its answer, unless EQUEUE_COMPLETION_TIMEOUT says otherwise.</summary>
    public static readonly TimeSpan UsualPatience = TimeSpan.FromMilliseconds(300);

    /// <summary>More are no help at a prompt.</summary>
    private const int MostNames = 10_000;

    /// <summary>Has arguments and options that name topics, groups and contexts suggest those there are.</summary>
    public void AddTo(Command command)
    {
        foreach (Argument argument in command.Arguments)
        {
            // What is to be made is not there yet; a token is made of a user who is.
            if (command.Name is "create" or "add" && argument.Name != "user")
                continue;
            Add(argument.CompletionSources, WhatIs(argument.Name, command));
        }

        foreach (Option option in command.Options)
            Add(option.CompletionSources, WhatIs(option.Name.TrimStart('-'), command));
        foreach (Command inner in command.Subcommands)
            AddTo(inner);
    }

    /// <summary>What an argument or an option names: what it is called, unless its family of commands says
    /// more.</summary>
    private static string WhatIs(string name, Command command)
    {
        string family = command.Parents.OfType<Command>().FirstOrDefault()?.Name ?? "";
        return (family, name) switch
        {
            ("context" or "user", "name") => family,
            ("user", "group") => "group-of-users",
            ("token", "id") => "token",
            _ => name,
        };
    }

    private void Add(List<Func<CompletionContext, IEnumerable<CompletionItem>>> sources, string what)
    {
        if (what == "topic")
            sources.Add(context => Ask(context, ReadTopicsAsync));
        else if (what == "group")
            sources.Add(context => Ask(context, ReadGroupsAsync));
        else if (what == "user")
            sources.Add(context => Ask(context, ReadUsersAsync));
        else if (what == "group-of-users")
            sources.Add(context => Ask(context, ReadGroupsOfUsersAsync));
        else if (what == "token")
            sources.Add(context => Ask(context, ReadTokensAsync));
        else if (what == "principal")
            sources.Add(context => Ask(context, ReadPrincipalsAsync));
        else if (what == "resource")
            sources.Add(context => Ask(context, ReadResourcesAsync));
        else if (what == "context")
            sources.Add(_ => options.Contexts.Read().Contexts.Keys.Select(Item));
    }

    private static CompletionItem Item(string name) => new(name);

    /// <remarks>System.CommandLine asks in a blocking way; the wait is bounded, whatever the connection does.</remarks>
    private IEnumerable<CompletionItem> Ask(
        CompletionContext context, Func<EQueueAdmin, List<string>, CancellationToken, Task> read)
    {
        var names = new List<string>();
        var asking = Task.Run(async () =>
        {
            using var ending = new CancellationTokenSource(patience);
            if (options.TryCreateSilentClient(context.ParseResult) is not { } client)
                return;
            await using (client) await read(client.Admin, names, ending.Token);
        });
        try
        {
            return asking.Wait(patience) ? [.. names.Select(Item)] : [];
        }
        catch (AggregateException)
        {
            // Unreachable, refused, or no address: there is nothing to suggest.
            return [];
        }
    }

    /// <summary>What is completed goes to a shell: only what a name may be, whatever the broker says.</summary>
    private static void Add(List<string> names, string name)
    {
        if (NameRules.IsValid(name))
            names.Add(name);
    }

    private static async Task ReadTopicsAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        await foreach (TopicListing topic in admin.ListTopicsAsync(cancellationToken))
        {
            Add(names, topic.Topic);
            if (names.Count == MostNames)
                return;
        }
    }

    private static async Task ReadGroupsAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        await foreach (GroupListing group in admin.ListGroupsAsync(cancellationToken))
        {
            Add(names, group.Group);
            if (names.Count == MostNames)
                return;
        }
    }

    private static async Task ReadUsersAsync(EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        await foreach (UserListing user in admin.ListUsersAsync(cancellationToken))
            Add(names, user.Name);
    }

    private static async Task ReadGroupsOfUsersAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        await foreach (UserListing user in admin.ListUsersAsync(cancellationToken))
        {
            foreach (string group in user.Groups)
                Add(names, group);
        }
    }

    private static async Task ReadTokensAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        await foreach (TokenListing token in admin.ListTokensAsync(cancellationToken))
            Add(names, token.Id);
    }

    private static async Task ReadPrincipalsAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        var users = new List<string>();
        await ReadUsersAsync(admin, users, cancellationToken);
        names.AddRange(users.Select(PrincipalText.OfUser));
    }

    private static async Task ReadResourcesAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        var found = new List<string>();
        await ReadTopicsAsync(admin, found, cancellationToken);
        names.AddRange(found.Select(static topic => ResourceText.Of(ResourceKind.Topic, topic)));
        found.Clear();
        await ReadGroupsAsync(admin, found, cancellationToken);
        names.AddRange(found.Select(static group => ResourceText.Of(ResourceKind.Group, group)));
    }
}
