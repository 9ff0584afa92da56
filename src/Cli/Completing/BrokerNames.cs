using System.CommandLine;
using System.CommandLine.Completions;
using EQueue.Cli.Commands;
using EQueue.Client;
using EQueue.Protocol;

namespace EQueue.Cli.Completing;

/// <summary>Names of topics and groups, and of contexts, for those who complete a line.</summary>
/// <remarks>A broker that does not answer in time, or at all, has no names: nobody waits at a prompt.</remarks>
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
            // What is to be made is not there yet.
            if (command.Name is "create" or "add") continue;
            bool isContext = argument.Name == "name" && command.Name is "use" or "remove" && IsOf(command, "context");
            Add(argument.CompletionSources, isContext ? "context" : argument.Name);
        }

        foreach (Option option in command.Options) Add(option.CompletionSources, option.Name.TrimStart('-'));
        foreach (Command inner in command.Subcommands) AddTo(inner);
    }

    private static bool IsOf(Command command, string parent) =>
        command.Parents.OfType<Command>().Any(one => one.Name == parent);

    private void Add(List<Func<CompletionContext, IEnumerable<CompletionItem>>> sources, string what)
    {
        if (what == "topic") sources.Add(context => Ask(context, ReadTopicsAsync));
        else if (what == "group") sources.Add(context => Ask(context, ReadGroupsAsync));
        else if (what == "context") sources.Add(_ => options.Contexts.Read().Contexts.Keys.Select(Item));
    }

    private static CompletionItem Item(string name) => new(name);

    /// <remarks>System.CommandLine asks in a blocking way; the wait is bounded, whatever the connection does.</remarks>
    private IEnumerable<CompletionItem> Ask(
        CompletionContext context, Func<EQueueAdmin, List<string>, CancellationToken, Task> read)
    {
        var names = new List<string>();
        Task asking = Task.Run(async () =>
        {
            using var ending = new CancellationTokenSource(patience);
            await using EQueueClient client = options.CreateSilentClient(context.ParseResult);
            await read(client.Admin, names, ending.Token);
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
        if (NameRules.IsValid(name)) names.Add(name);
    }

    private static async Task ReadTopicsAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        await foreach (TopicListing topic in admin.ListTopicsAsync(cancellationToken))
        {
            Add(names, topic.Topic);
            if (names.Count == MostNames) return;
        }
    }

    private static async Task ReadGroupsAsync(
        EQueueAdmin admin, List<string> names, CancellationToken cancellationToken)
    {
        await foreach (GroupListing group in admin.ListGroupsAsync(cancellationToken))
        {
            Add(names, group.Group);
            if (names.Count == MostNames) return;
        }
    }
}
