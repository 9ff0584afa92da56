namespace EQueue.Cli.Output;

/// <summary>Prints topics: rows of their queues, or one JSON object each.</summary>
/// <remarks>
/// Rows of a table on a terminal are kept until <see cref="FlushAsync"/>; everything else goes out as it comes.
/// </remarks>
internal sealed class TopicWriter(CliStreams streams, bool isJson)
{
    private static readonly string[] Columns = ["topic", "queue", "start", "end", "bytes", "last stored", "state"];

    private readonly List<string[]> _rows = [];

    /// <summary>Prints where a topic's queues begin and end; as JSON its settings too.</summary>
    public void Write(TopicDescription topic)
    {
        if (isJson)
        {
            JsonLine.WriteBody(streams.Output, new TopicLine(topic));
            return;
        }

        _rows.AddRange(topic.Queues.Select(queue => new[]
        {
            topic.Topic,
            TableWriter.Cell(queue.Number),
            TableWriter.Cell(queue.Start.Value),
            TableWriter.Cell(queue.End.Value),
            streams.IsTerminal ? HumanText.Size(queue.StoredBytes) : TableWriter.Cell(queue.StoredBytes),
            LastStored(queue) ?? "-",
            Describe(queue.State),
        }));
        if (!streams.IsTerminal)
            WriteRows();
    }

    /// <summary>Tells a topic's settings on standard error, unless they are in its JSON.</summary>
    public Task WriteSettingsAsync(TopicDescription topic, bool isOneOfMany) => isJson
        ? Task.CompletedTask
        : streams.Error.WriteLineAsync(
            (isOneOfMany ? $"{topic.Topic}: " : "") + Describe(topic.Settings, streams.IsErrorTerminal));

    /// <summary>Tells that a topic is gone.</summary>
    public async Task WriteDeletedAsync(string topic)
    {
        if (isJson)
            JsonLine.Write(streams.Output, json => json.WriteString("deleted", topic));
        else
            await streams.Error.WriteLineAsync($"deleted {topic}");
    }

    /// <summary>Tells what would go with a topic.</summary>
    public async Task WriteDeletableAsync(TopicDescription topic)
    {
        long messages = topic.Queues.Sum(queue => queue.End.Value - queue.Start.Value);
        long bytes = topic.Queues.Sum(queue => queue.StoredBytes);
        if (!isJson)
        {
            await streams.Error.WriteLineAsync(
                $"{topic.Topic} would be deleted with up to {messages} messages, "
                + $"{(streams.IsErrorTerminal ? HumanText.Size(bytes) : $"{bytes} bytes")}; nothing was changed");
            return;
        }

        JsonLine.Write(streams.Output, json =>
        {
            json.WriteString("topic", topic.Topic);
            json.WriteNumber("messages", messages);
            json.WriteNumber("bytes", bytes);
            json.WriteBoolean("preview", true);
        });
    }

    /// <summary>Has everything printed that was written.</summary>
    public async Task FlushAsync()
    {
        if (_rows.Count > 0)
            WriteRows();
        await streams.Output.FlushAsync(CancellationToken.None);
    }

    /// <summary>A policy as the command line calls it.</summary>
    public static string Word(BacklogPolicy? policy) => policy switch
    {
        BacklogPolicy.Reject => "reject",
        BacklogPolicy.DropOldest => "drop-oldest",
        _ => "block",
    };

    private void WriteRows()
    {
        TableWriter.Write(streams, Columns, _rows);
        _rows.Clear();
    }

    private static string Describe(QueueState state)
    {
        string text = (state & (QueueState.Writable | QueueState.Readable)) switch
        {
            QueueState.Writable | QueueState.Readable => "open",
            QueueState.Readable => "not writable",
            QueueState.Writable => "not readable",
            _ => "closed",
        };
        return state.HasFlag(QueueState.Drained) ? $"{text}, drained" : text;
    }

    private static string Describe(TopicSettings settings, bool isForPeople)
    {
        string backlog = settings is { MaxBacklogMessages: > 0 } or { MaxBacklogBytes: > 0 }
            ? $"{Bound(settings.MaxBacklogMessages)} messages, {SizeBound(settings.MaxBacklogBytes, isForPeople)}, "
                + $"{Word(settings.BacklogPolicy)}, "
                + (settings.BacklogGroups is { Length: > 0 } groups ? groups : "any group")
            : "no bound";
        string age = settings.RetentionAge is { } kept && kept > TimeSpan.Zero
            ? isForPeople ? HumanText.Time(kept) : kept.ToString() : "for ever";
        string largest = isForPeople
            ? HumanText.Size(settings.MaxMessageBytes ?? 0) : $"{settings.MaxMessageBytes} bytes";
        return $"retention: {age}, {SizeBound(settings.RetentionBytes, isForPeople)}, "
            + $"{Bound(settings.RetentionCount)} messages a queue; "
            + $"largest message: {largest}; backlog: {backlog}";
    }

    private static string Bound(long? value) => value is > 0 ? TableWriter.Cell(value.Value) : "any";

    private static string SizeBound(long? value, bool isForPeople) => value is > 0 && isForPeople
        ? HumanText.Size(value.Value) : $"{Bound(value)} bytes";

    private static string? LastStored(QueueDescription queue) => queue.LastStoredMs == 0
        ? null : BodyTime.Text(DateTimeOffset.FromUnixTimeMilliseconds(queue.LastStoredMs));
}
