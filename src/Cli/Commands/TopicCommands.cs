using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using EQueue.Cli.Topics;

namespace EQueue.Cli.Commands;

/// <summary><c>topic create | alter | alter-queues | list | describe | delete</c>.</summary>
internal static class TopicCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var topic = new Command(
            "topic",
            "Creates, changes, lists, describes and deletes topics. Example: equeue topic create orders --queues 8");
        topic.Subcommands.Add(CreateCreate(options, streams));
        topic.Subcommands.Add(CreateAlter(options, streams));
        topic.Subcommands.Add(CreateAlterQueues(options, streams));
        topic.Subcommands.Add(CreateList(options, streams));
        topic.Subcommands.Add(CreateDescribe(options, streams));
        topic.Subcommands.Add(CreateDelete(options, streams));
        return topic;
    }

    private static Command CreateCreate(GlobalOptions options, CliStreams streams)
    {
        var command = new Command(
            "create",
            "Creates topics; what is not given is as the broker is set. "
            + "Example: equeue topic create orders --queues 8 --retention-age 3d --max-backlog 100000");
        TopicNames names = AddNames(command);
        TopicSettingOptions settings = new TopicSettingOptions().AddTo(command);
        command.SetAction((parsed, cancellationToken) =>
        {
            TopicSettings wanted = settings.Read(parsed);
            var errand = new TopicCommandRunner<TopicDescription>(
                "created",
                (admin, topic, token) => admin.CreateTopicAsync(topic, wanted, token),
                WriteAsync);
            return errand.RunAsync(options, names, parsed, streams, cancellationToken);
        });
        return command;
    }

    private static Command CreateAlter(GlobalOptions options, CliStreams streams)
    {
        var command = new Command(
            "alter",
            "Changes the settings that are given and leaves the rest. Example: equeue topic alter orders --queues 16");
        TopicNames names = AddNames(command);
        TopicSettingOptions settings = new TopicSettingOptions().AddTo(command);
        var yes = new Option<bool>("--yes")
        {
            Description = "Really: with more --queues keys go to other queues, which ends the order of their messages.",
        };
        command.Options.Add(yes);
        command.SetAction((parsed, cancellationToken) =>
        {
            TopicSettings changes = settings.Read(parsed);
            if (changes == TopicSettings.None)
                throw new UsageException("Nothing to change: name a setting, such as --queues 8.");
            bool mayMoveKeys = parsed.GetValue(yes) || changes.QueueCount is null;
            if (!mayMoveKeys && names.AreMany(parsed))
            {
                throw new UsageException(
                    "With more queues keys go to other queues, and messages of one key do not keep their order: "
                    + "add --yes.");
            }

            var errand = new TopicCommandRunner<TopicDescription>(
                "altered",
                async (admin, topic, token) =>
                {
                    if (!mayMoveKeys)
                        await DemandEmptyAsync(admin, topic, changes.QueueCount!.Value, token);
                    return await admin.AlterTopicAsync(topic, changes, token);
                },
                WriteWithSettingsAsync);
            return errand.RunAsync(options, names, parsed, streams, cancellationToken);
        });
        return command;
    }

    /// <summary>Where a key goes depends on the count of queues: new messages of a key would overtake older
    /// ones.</summary>
    /// <exception cref="UsageException">The topic holds messages and would get more queues.</exception>
    private static async ValueTask DemandEmptyAsync(
        EQueueAdmin admin, string topic, int count, CancellationToken cancellationToken)
    {
        TopicDescription before = await admin.DescribeTopicAsync(topic, cancellationToken);
        if (count <= before.Queues.Count || before.Queues.All(static queue => queue.End == queue.Start))
            return;
        throw new UsageException(
            $"{topic} holds messages. With {count} queues instead of {before.Queues.Count} keys go to other queues, "
            + "and messages of one key do not keep their order until the older ones are consumed: add --yes.");
    }

    private static Command CreateAlterQueues(GlobalOptions options, CliStreams streams)
    {
        var queues = new Option<int[]>("--queue")
        {
            Description = "The queues by number, or all.",
            HelpName = "3,5-7|all",
            Required = true,
            CustomParser = QueueListText.Parse,
        };
        Option<bool?> writable = TrueOrFalse("--writable", "Whether they take messages: true or false.");
        Option<bool?> readable = TrueOrFalse("--readable", "Whether they may be read: true or false.");
        var command = new Command(
            "alter-queues",
            "Says which queues may be written and read, so that queues can be drained before they are retired. "
            + "Example: equeue topic alter-queues orders --queue 3,5-7 --writable false")
        {
            queues, writable, readable,
        };
        TopicNames names = AddNames(command);
        command.SetAction((parsed, cancellationToken) =>
        {
            bool? isWritable = parsed.GetValue(writable);
            bool? isReadable = parsed.GetValue(readable);
            if (isWritable is null && isReadable is null)
                throw new UsageException("Nothing to change: name --writable or --readable, with true or false.");
            int[] numbers = parsed.GetRequiredValue(queues);
            var errand = new TopicCommandRunner<TopicDescription>(
                "altered",
                (admin, topic, token) => admin.AlterQueuesAsync(
                    topic, numbers.Length > 0 ? numbers : null, isWritable, isReadable, token),
                WriteAsync);
            return errand.RunAsync(options, names, parsed, streams, cancellationToken);
        });
        return command;
    }

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        var command = new Command("list", "Lists the topics by name. Example: equeue topic list --json");
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            var topics = new List<TopicListing>();
            await foreach (TopicListing topic in client.Admin.ListTopicsAsync(cancellationToken))
                topics.Add(topic);
            if (!options.IsJson(parsed))
            {
                TableWriter.Write(
                    streams,
                    ["topic", "queues"],
                    [.. topics.Select(topic => new[] { topic.Topic, TableWriter.Cell(topic.QueueCount) })]);
                return ExitCode.Done;
            }

            var output = new BufferedStream(streams.Output);
            foreach (TopicListing topic in topics)
                JsonLine.WriteBody(output, TopicSummary.Of(topic));
            await output.FlushAsync(cancellationToken);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateDescribe(GlobalOptions options, CliStreams streams)
    {
        var command = new Command(
            "describe",
            "Tells topics' settings and where their queues begin and end. Example: equeue topic describe orders");
        TopicNames names = AddNames(command);
        command.SetAction((parsed, cancellationToken) => new TopicCommandRunner<TopicDescription>(
            "described",
            (admin, topic, token) => admin.DescribeTopicAsync(topic, token),
            WriteWithSettingsAsync).RunAsync(options, names, parsed, streams, cancellationToken));
        return command;
    }

    private static Command CreateDelete(GlobalOptions options, CliStreams streams)
    {
        var yes = new Option<bool>("--yes") { Description = "Really: messages and groups' progress go too." };
        Option<bool> preview = DryRunOption.Create();
        var command = new Command(
            "delete", "Deletes topics with their messages. Example: equeue topic delete orders --dry-run")
        {
            yes, preview,
        };
        TopicNames names = AddNames(command);
        command.SetAction((parsed, cancellationToken) =>
        {
            if (parsed.GetValue(preview))
            {
                return new TopicCommandRunner<TopicDescription>(
                    "nothing was changed; without --dry-run and with --yes there go",
                    (admin, topic, token) => admin.DescribeTopicAsync(topic, token),
                    static (writer, topic, _) => writer.WriteDeletableAsync(topic))
                    .RunAsync(options, names, parsed, streams, cancellationToken);
            }

            if (!parsed.GetValue(yes))
            {
                throw new UsageException(
                    $"Deleting {names.Describe(parsed)} cannot be undone: add --yes, or --dry-run to see what goes.");
            }

            var errand = new TopicCommandRunner<string>(
                "deleted",
                async (admin, topic, token) =>
                {
                    await admin.DeleteTopicAsync(topic, token);
                    return topic;
                },
                static (writer, topic, _) => writer.WriteDeletedAsync(topic));
            return errand.RunAsync(options, names, parsed, streams, cancellationToken);
        });
        return command;
    }

    private static Option<bool?> TrueOrFalse(string name, string description) =>
        new(name) { Description = description, HelpName = "true|false", Arity = ArgumentArity.ExactlyOne };

    private static TopicNames AddNames(Command command)
    {
        var names = new TopicNames();
        names.AddTo(command);
        return names;
    }

    private static Task WriteAsync(TopicWriter writer, TopicDescription topic, bool areMany)
    {
        writer.Write(topic);
        return Task.CompletedTask;
    }

    private static Task WriteWithSettingsAsync(TopicWriter writer, TopicDescription topic, bool areMany)
    {
        writer.Write(topic);
        return writer.WriteSettingsAsync(topic, areMany);
    }
}
