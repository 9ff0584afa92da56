using System.CommandLine;
using System.Globalization;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using EQueue.Client;
using EQueue.Protocol;

namespace EQueue.Cli.Commands;

/// <summary><c>topic create | alter | alter-queues | list | describe | delete</c>.</summary>
internal static class TopicCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var topic = new Command("topic", "Creates, changes, lists, describes and deletes topics.");
        topic.Subcommands.Add(CreateCreate(options, streams));
        topic.Subcommands.Add(CreateAlter(options, streams));
        topic.Subcommands.Add(CreateAlterQueues(options, streams));
        topic.Subcommands.Add(CreateList(options, streams));
        topic.Subcommands.Add(CreateDescribe(options, streams));
        topic.Subcommands.Add(CreateDelete(options, streams));
        return topic;
    }

    private static Argument<string> TopicArgument() => new("topic") { Description = "The topic's name." };

    private static Command CreateCreate(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = TopicArgument();
        var command = new Command(
            "create",
            "Creates a topic; what is not given is as the broker is set. "
            + "Example: equeue topic create orders --queues 8 --retention-age 3d --max-backlog 100000")
        {
            name,
        };
        TopicSettingOptions settings = new TopicSettingOptions().AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            TopicSettings wanted = settings.Read(parsed);
            await using EQueueClient client = options.CreateClient(parsed);
            TopicDescription created = await client.Admin.CreateTopicAsync(
                parsed.GetRequiredValue(name), wanted, cancellationToken);
            await WriteDescriptionAsync(
                streams, created, options.IsJson(parsed), withSettings: false, cancellationToken);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateAlter(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = TopicArgument();
        var command = new Command(
            "alter",
            "Changes the settings that are given and leaves the rest. Example: equeue topic alter orders --queues 16")
        {
            name,
        };
        TopicSettingOptions settings = new TopicSettingOptions().AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            TopicSettings changes = settings.Read(parsed);
            if (changes == TopicSettings.None)
                throw new UsageException("Nothing to change: name a setting, such as --queues 8.");
            await using EQueueClient client = options.CreateClient(parsed);
            TopicDescription altered = await client.Admin.AlterTopicAsync(
                parsed.GetRequiredValue(name), changes, cancellationToken);
            await WriteDescriptionAsync(
                streams, altered, options.IsJson(parsed), withSettings: true, cancellationToken);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateAlterQueues(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = TopicArgument();
        var queues = new Option<int[]>("--queue")
        {
            Description = "The queues by number, or all.",
            HelpName = "3,5-7|all",
            Required = true,
            CustomParser = QueueListText.Parse,
        };
        var writable = new Option<bool?>("--writable") { Description = "Whether they take messages: true or false." };
        var readable = new Option<bool?>("--readable") { Description = "Whether they may be read: true or false." };
        var command = new Command(
            "alter-queues",
            "Says which queues may be written and read, so that queues can be drained before they are retired. "
            + "Example: equeue topic alter-queues orders --queue 3,5-7 --writable false")
        {
            name, queues, writable, readable,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            bool? isWritable = parsed.GetValue(writable);
            bool? isReadable = parsed.GetValue(readable);
            if (isWritable is null && isReadable is null)
                throw new UsageException("Nothing to change: name --writable or --readable, with true or false.");
            await using EQueueClient client = options.CreateClient(parsed);
            int[] numbers = parsed.GetRequiredValue(queues);
            TopicDescription altered = await client.Admin.AlterQueuesAsync(
                parsed.GetRequiredValue(name),
                numbers.Length > 0 ? numbers : null,
                isWritable,
                isReadable,
                cancellationToken);
            await WriteDescriptionAsync(
                streams, altered, options.IsJson(parsed), withSettings: false, cancellationToken);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        var command = new Command("list", "Lists the topics by name.");
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            var topics = new List<TopicListing>();
            await foreach (TopicListing topic in client.Admin.ListTopicsAsync(cancellationToken)) topics.Add(topic);
            if (!options.IsJson(parsed))
            {
                TableWriter.Write(
                    streams,
                    ["topic", "queues"],
                    [.. topics.Select(topic => new[] { topic.Topic, Text(topic.QueueCount) })]);
                return ExitCode.Done;
            }

            var output = new BufferedStream(streams.Output);
            foreach (TopicListing topic in topics)
            {
                JsonLine.Write(output, json =>
                {
                    json.WriteString("topic", topic.Topic);
                    json.WriteString("id", topic.Id.Value);
                    json.WriteNumber("queueCount", topic.QueueCount);
                });
            }

            await output.FlushAsync(cancellationToken);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateDescribe(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = TopicArgument();
        var command = new Command("describe", "Tells a topic's settings and where its queues begin and end.") { name };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            TopicDescription topic = await client.Admin.DescribeTopicAsync(
                parsed.GetRequiredValue(name), cancellationToken);
            await WriteDescriptionAsync(
                streams, topic, options.IsJson(parsed), withSettings: true, cancellationToken);
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateDelete(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = TopicArgument();
        var yes = new Option<bool>("--yes") { Description = "Really: its messages and its groups' progress go too." };
        var command = new Command("delete", "Deletes a topic with its messages.") { name, yes };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string topic = parsed.GetRequiredValue(name);
            if (!parsed.GetValue(yes)) throw new UsageException($"Deleting {topic} cannot be undone: add --yes.");
            await using EQueueClient client = options.CreateClient(parsed);
            await client.Admin.DeleteTopicAsync(topic, cancellationToken);
            if (options.IsJson(parsed)) JsonLine.Write(streams.Output, json => json.WriteString("deleted", topic));
            else await streams.Error.WriteLineAsync($"deleted {topic}");
            return ExitCode.Done;
        });
        return command;
    }

    private static async Task WriteDescriptionAsync(
        CliStreams streams,
        TopicDescription topic,
        bool isJson,
        bool withSettings,
        CancellationToken cancellationToken)
    {
        if (isJson) WriteJson(streams.Output, topic);
        else WriteTable(streams, topic);
        await streams.Output.FlushAsync(cancellationToken);
        if (withSettings && !isJson) await streams.Error.WriteLineAsync(Describe(topic.Settings));
    }

    private static void WriteTable(CliStreams streams, TopicDescription topic) => TableWriter.Write(
        streams,
        ["topic", "queue", "start", "end", "bytes", "last stored", "state"],
        [
            .. topic.Queues.Select(queue => new[]
            {
                topic.Topic,
                Text(queue.Number),
                Text(queue.Start.Value),
                Text(queue.End.Value),
                Text(queue.StoredBytes),
                LastStored(queue) ?? "-",
                Describe(queue.State),
            }),
        ]);

    private static string Describe(QueueState state)
    {
        string text = (IsWritable(state), IsReadable(state)) switch
        {
            (true, true) => "open",
            (false, true) => "not writable",
            (true, false) => "not readable",
            _ => "closed",
        };
        return IsDrained(state) ? $"{text}, drained" : text;
    }

    private static bool IsWritable(QueueState state) => state.HasFlag(QueueState.Writable);

    private static bool IsReadable(QueueState state) => state.HasFlag(QueueState.Readable);

    private static bool IsDrained(QueueState state) => state.HasFlag(QueueState.Drained);

    private static string Describe(TopicSettings settings)
    {
        string backlog = settings is { MaxBacklogMessages: > 0 } or { MaxBacklogBytes: > 0 }
            ? $"{Bound(settings.MaxBacklogMessages)} messages, {Bound(settings.MaxBacklogBytes)} bytes, "
                + $"{Word(settings.BacklogPolicy)}, "
                + (settings.BacklogGroups is { Length: > 0 } groups ? groups : "any group")
            : "no bound";
        string age = settings.RetentionAge is { } kept && kept > TimeSpan.Zero ? kept.ToString() : "for ever";
        return $"retention: {age}, {Bound(settings.RetentionBytes)} bytes, "
            + $"{Bound(settings.RetentionCount)} messages a queue; "
            + $"largest message: {settings.MaxMessageBytes} bytes; backlog: {backlog}";
    }

    private static string Bound(long? value) => value is > 0 ? Text(value.Value) : "any";

    private static string Word(BacklogPolicy? policy) => policy switch
    {
        BacklogPolicy.Reject => "reject",
        BacklogPolicy.DropOldest => "drop-oldest",
        _ => "block",
    };

    private static void WriteJson(Stream output, TopicDescription topic) => JsonLine.Write(output, json =>
    {
        json.WriteString("topic", topic.Topic);
        json.WriteString("id", topic.Id.Value);
        json.WriteString("createdTime", JsonText.Time(DateTimeOffset.FromUnixTimeMilliseconds(topic.CreatedMs)));
        json.WriteNumber("queueCount", topic.Settings.QueueCount ?? topic.Queues.Count);
        json.WriteNumber("retentionAgeMs", (long)(topic.Settings.RetentionAge ?? TimeSpan.Zero).TotalMilliseconds);
        json.WriteNumber("retentionBytes", topic.Settings.RetentionBytes ?? 0);
        json.WriteNumber("retentionCount", topic.Settings.RetentionCount ?? 0);
        json.WriteNumber("maxMessageBytes", topic.Settings.MaxMessageBytes ?? 0);
        json.WriteNumber("maxBacklogMessages", topic.Settings.MaxBacklogMessages ?? 0);
        json.WriteNumber("maxBacklogBytes", topic.Settings.MaxBacklogBytes ?? 0);
        json.WriteString("backlogPolicy", Word(topic.Settings.BacklogPolicy));
        json.WriteString("backlogGroups", topic.Settings.BacklogGroups ?? "");
        json.WriteStartArray("queues");
        foreach (QueueDescription queue in topic.Queues)
        {
            json.WriteStartObject();
            json.WriteNumber("queue", queue.Number);
            json.WriteNumber("start", queue.Start.Value);
            json.WriteNumber("end", queue.End.Value);
            json.WriteNumber("storedBytes", queue.StoredBytes);
            json.WriteString("lastStoredTime", LastStored(queue));
            json.WriteBoolean("writable", IsWritable(queue.State));
            json.WriteBoolean("readable", IsReadable(queue.State));
            json.WriteBoolean("drained", IsDrained(queue.State));
            json.WriteEndObject();
        }

        json.WriteEndArray();
    });

    private static string? LastStored(QueueDescription queue) => queue.LastStoredMs == 0
        ? null : JsonText.Time(DateTimeOffset.FromUnixTimeMilliseconds(queue.LastStoredMs));

    private static string Text(long value) => value.ToString(CultureInfo.InvariantCulture);
}
