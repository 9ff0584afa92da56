namespace EQueue.Cli.Output;

/// <summary>Prints groups, their members and their queues.</summary>
internal sealed class GroupWriter(CliStreams streams, bool isJson)
{
    public void Write(IReadOnlyList<GroupListing> groups)
    {
        if (!isJson)
        {
            TableWriter.Write(
                streams,
                ["group", "kind", "state", "members"],
                [
                    .. groups.Select(group => new[]
                    {
                        group.Group, Text(group.Kind), Text(group.State), TableWriter.Cell(group.MemberCount),
                    }),
                ]);
            return;
        }

        var output = new BufferedStream(streams.Output);
        foreach (GroupListing group in groups)
            JsonLine.WriteBody(output, GroupSummary.Of(group));

        output.Flush();
    }

    /// <summary>A line for each queue; on a terminal the members before.</summary>
    public void Write(string name, GroupDescription group)
    {
        if (isJson)
        {
            JsonLine.WriteBody(streams.Output, new GroupLine(name, group));
            return;
        }

        streams.Error.WriteLine(
            $"{name}: {Text(group.Kind)}, {Text(group.State)}, {Count(group.Members.Count, "member")}");
        if (streams.IsTerminal && group.Members.Count > 0)
            WriteMembers(group);
        TableWriter.Write(
            streams,
            ["topic", "queue", "owner", "committed", "start", "end", "lag", "age of lag"],
            [
                .. group.Queues.Select(queue => new[]
                {
                    queue.Topic,
                    TableWriter.Cell(queue.Number),
                    queue.InstanceId ?? NameOf(group, queue.Owner) ?? "-",
                    queue.Committed.Value < 0 ? "-" : TableWriter.Cell(queue.Committed.Value),
                    TableWriter.Cell(queue.Start.Value),
                    TableWriter.Cell(queue.End.Value),
                    TableWriter.Cell(queue.Lag),
                    TableWriter.Age(queue.LagMs, streams),
                }),
            ]);
    }

    /// <summary>A line for each queue that was, or would be, set.</summary>
    public void Write(IReadOnlyList<ResetQueue> queues, bool isPreview)
    {
        if (!isJson)
        {
            TableWriter.Write(
                streams,
                ["topic", "queue", "from", "to", "error"],
                [
                    .. queues.Select(queue => new[]
                    {
                        queue.Topic,
                        TableWriter.Cell(queue.Number),
                        queue.From.Value < 0 ? "-" : TableWriter.Cell(queue.From.Value),
                        queue.To.Value < 0 ? "-" : TableWriter.Cell(queue.To.Value),
                        queue.Error == ErrorCode.None ? "-" : queue.Error.ToString(),
                    }),
                ]);
            return;
        }

        foreach (ResetQueue queue in queues)
            JsonLine.WriteBody(streams.Output, new ResetQueueLine(queue, isPreview));
    }

    /// <summary>Tells what would go with a group, or with its progress in one topic.</summary>
    /// <exception cref="EQueueException">GroupBusy: as long as it has members, nothing would.</exception>
    public void WriteDeletable(string name, string? topic, GroupDescription group)
    {
        int queues = group.Queues.Count(queue => queue.Committed.Value >= 0);
        if (group.Members.Count > 0)
        {
            throw new EQueueException(
                ErrorCode.GroupBusy,
                $"{name} has {Count(group.Members.Count, "member")} and would not be deleted: stop its readers first.");
        }

        if (!isJson)
        {
            string where = topic is null ? "" : $" in {topic}";
            streams.Error.WriteLine(
                $"{name}{where} would be deleted with its progress in {Count(queues, "queue")}; nothing was changed");
            return;
        }

        JsonLine.Write(streams.Output, json =>
        {
            json.WriteString("group", name);
            json.WriteString("topic", topic);
            json.WriteNumber("queues", queues);
            json.WriteBoolean("preview", true);
        });
    }

    /// <summary>What a member is called; of several with that name also the begin of its id, which the table of members
    /// and JSON have in full.</summary>
    private static string? NameOf(GroupDescription group, int index)
    {
        if (index < 0 || index >= group.Members.Count)
            return null;
        MemberDescription member = group.Members[index];
        string name = NameOf(member);
        return group.Members.Count(other => NameOf(other) == name) == 1 ? name : $"{name}#{$"{member.Member:N}"[..8]}";
    }

    private static string NameOf(MemberDescription member) => member.InstanceId ?? member.Client;

    private static string Count(int count, string what) => count == 1 ? $"1 {what}" : $"{count} {what}s";

    private static string Text(GroupKind kind) => kind.ToString().ToLowerInvariant();

    private static string Text(GroupState state) => state.ToString().ToLowerInvariant();

    private void WriteMembers(GroupDescription group) => TableWriter.Write(
        streams,
        ["member", "instance", "client", "address", "topics", "queues", "pending"],
        [
            .. group.Members.Select(member => new[]
            {
                member.Member.ToString(),
                member.InstanceId ?? "-",
                member.Client,
                member.Address.Length == 0 ? "away" : member.Address,
                string.Join(' ', member.Subscriptions.Select(subscription => subscription.Topic)),
                TableWriter.Cell(member.OwnedCount),
                TableWriter.Cell(member.PendingCount),
            }),
        ]);
}
