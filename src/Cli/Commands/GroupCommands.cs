using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using EQueue.Cli.Watching;
using EQueue.Protocol;

namespace EQueue.Cli.Commands;

/// <summary><c>group list | describe | lag | reset | delete</c>.</summary>
internal static class GroupCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var group = new Command(
            "group",
            "Lists, describes, watches, resets and deletes consumer groups. Example: equeue group describe billing");
        group.Subcommands.Add(CreateList(options, streams));
        group.Subcommands.Add(CreateDescribe(options, streams));
        group.Subcommands.Add(CreateLag(options, streams));
        group.Subcommands.Add(CreateReset(options, streams));
        group.Subcommands.Add(CreateDelete(options, streams));
        return group;
    }

    private static Argument<string> GroupArgument() => new("group") { Description = "The group's name." };

    private static Option<string?> TopicOption(string description) =>
        new("--topic") { Description = description, HelpName = "T" };

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        var command = new Command("list", "Lists the groups by name. Example: equeue group list --json");
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            var groups = new List<GroupListing>();
            await foreach (GroupListing group in client.Admin.ListGroupsAsync(cancellationToken))
                groups.Add(group);
            new GroupWriter(streams, options.IsJson(parsed)).Write(groups);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateDescribe(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = GroupArgument();
        var command = new Command(
            "describe",
            "Tells a group's members, who has which queue, and how far it is behind. "
            + "Example: equeue group describe billing")
        {
            name,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string group = parsed.GetRequiredValue(name);
            await using EQueueClient client = options.CreateClient(parsed);
            GroupDescription described = await client.Admin.DescribeGroupAsync(
                group, cancellationToken: cancellationToken);
            new GroupWriter(streams, options.IsJson(parsed)).Write(group, described);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateLag(GlobalOptions options, CliStreams streams)
    {
        var names = new Argument<string[]>("group")
        {
            Description = "The groups' names; none = all groups.",
            HelpName = "G...",
            Arity = ArgumentArity.ZeroOrMore,
        };
        var watch = new Option<bool>("--watch") { Description = "Looks again and again, until Ctrl-C." };
        Option<TimeSpan> interval = WatchOptions.Interval(TimeSpan.FromSeconds(2));
        var command = new Command(
            "lag",
            "Tells how far groups are behind, the furthest first: messages not committed, and the age of the oldest. "
            + "Example: equeue group lag billing --watch")
        {
            names, watch, interval,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            bool isWatched = parsed.GetValue(watch);
            if (!isWatched && parsed.GetResult(interval) is { Implicit: false })
                throw new UsageException("--interval goes with --watch.");
            TimeProvider time = TimeProvider.System;
            bool isJson = options.IsJson(parsed);
            await using EQueueClient client = options.CreateClient(parsed);
            return await new Screen(streams, time, redraws: isWatched && streams.IsTerminal && !isJson).RunAsync(
                parsed.GetValue(interval),
                isWatched ? null : 1,
                async token =>
                {
                    IReadOnlyList<GroupLagLine> lines = await GroupLagLine.ReadAsync(
                        client.Admin, parsed.GetValue(names) ?? [], token);
                    return page => LagWriter.Write(page, lines, time.GetUtcNow(), isJson);
                },
                cancellationToken);
        });
        return command;
    }

    private static Command CreateReset(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = GroupArgument();
        Option<string?> topic = TopicOption("Only this topic; without it every queue that the group has progress in.");
        var queues = new Option<int[]>("--queue")
        {
            Description = "Only this queue of the topic, by number; may be given more than once.",
            HelpName = "N",
        };
        var instance = new Option<string?>("--instance")
        {
            Description = "Whose progress, in a broadcast group.",
            HelpName = "I",
        };
        var to = new Option<ResetPosition>("--to")
        {
            Description = "Where the group continues; by:N is so many messages on from where it is, by:-N back.",
            HelpName = "begin|end|offset:N|time:ISO|by:N",
            Required = true,
            CustomParser = ResetText.Parse,
        };
        var preview = new Option<bool>("--dry-run") { Description = "Only tells what would become of each queue." };
        var command = new Command(
            "reset",
            "Sets where a group without members continues. Example: equeue group reset billing --to by:-100 --dry-run")
        {
            name, topic, queues, instance, to, preview,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            int[] numbers = parsed.GetValue(queues) ?? [];
            if (numbers.Length > 0 && parsed.GetValue(topic) is null)
                throw new UsageException("--queue names a queue of a topic: add --topic.");
            if (numbers.Any(number => number < 0))
                throw new UsageException("--queue must be 0 or more.");
            bool isPreview = parsed.GetValue(preview);
            await using EQueueClient client = options.CreateClient(parsed);
            IReadOnlyList<ResetQueue> reset = await client.Admin.ResetGroupOffsetsAsync(
                parsed.GetRequiredValue(name),
                parsed.GetValue(to),
                parsed.GetValue(topic),
                numbers.Length > 0 ? numbers : null,
                parsed.GetValue(instance),
                isPreview,
                cancellationToken);
            new GroupWriter(streams, options.IsJson(parsed)).Write(reset, isPreview);
            ThrowIfFailed(reset);
            if (reset.Count == 0)
                await streams.Error.WriteLineAsync("the group has no progress: name a topic");
            else if (isPreview)
                await streams.Error.WriteLineAsync("nothing was changed: leave out --dry-run to do it");
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateDelete(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = GroupArgument();
        Option<string?> topic = TopicOption("Only the group's progress in this topic.");
        var yes = new Option<bool>("--yes") { Description = "Really: its progress goes." };
        Option<bool> preview = DryRunOption.Create();
        var command = new Command(
            "delete", "Deletes a group without members. Example: equeue group delete billing --dry-run")
        {
            name, topic, yes, preview,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string group = parsed.GetRequiredValue(name);
            string? only = parsed.GetValue(topic);
            string what = only is null ? group : $"{group} in {only}";
            bool isPreview = parsed.GetValue(preview);
            if (!isPreview && !parsed.GetValue(yes))
            {
                throw new UsageException(
                    $"Deleting {what} cannot be undone: add --yes, or --dry-run to see what goes.");
            }

            await using EQueueClient client = options.CreateClient(parsed);
            if (isPreview)
            {
                GroupDescription found = await client.Admin.DescribeGroupAsync(
                    group, only, withAges: false, cancellationToken);
                new GroupWriter(streams, options.IsJson(parsed)).WriteDeletable(group, only, found);
                return ExitCode.Done;
            }

            await client.Admin.DeleteGroupAsync(group, only, cancellationToken);
            if (options.IsJson(parsed))
            {
                JsonLine.Write(streams.Output, json =>
                {
                    json.WriteString("deleted", group);
                    if (only is not null)
                        json.WriteString("topic", only);
                });
            }
            else
            {
                await streams.Error.WriteLineAsync($"deleted {what}");
            }

            return ExitCode.Done;
        });
        return command;
    }

    /// <summary>Throws for queues that stay as they are.</summary>
    private static void ThrowIfFailed(IReadOnlyList<ResetQueue> queues)
    {
        ResetQueue? failed = queues.FirstOrDefault(queue => queue.Error != ErrorCode.None);
        if (failed is null)
            return;
        int count = queues.Count(queue => queue.Error != ErrorCode.None);
        var cause = new EQueueException(
            failed.Error,
            $"{ErrorCodes.Describe(failed.Error)}: {failed.Topic}/{failed.Number}; "
            + $"{count} of {queues.Count} queues stay as they are.");
        throw count == queues.Count ? cause : new PartlyDoneException(cause.Message, cause);
    }
}
