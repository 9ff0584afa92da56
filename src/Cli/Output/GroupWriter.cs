using System.Text.Json;
using EQueue.Client;
using EQueue.Protocol;

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
        {
            JsonLine.Write(output, json =>
            {
                json.WriteString("group", group.Group);
                json.WriteString("kind", Text(group.Kind));
                json.WriteString("state", Text(group.State));
                json.WriteNumber("memberCount", group.MemberCount);
            });
        }

        output.Flush();
    }

    /// <summary>A line for each queue; on a terminal the members before.</summary>
    public void Write(string name, GroupDescription group)
    {
        if (isJson)
        {
            JsonLine.Write(streams.Output, json => WriteFields(json, name, group));
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
        {
            JsonLine.Write(streams.Output, json =>
            {
                json.WriteString("topic", queue.Topic);
                json.WriteNumber("queue", queue.Number);
                WriteNumberOrNull(json, "from", queue.From.Value);
                WriteNumberOrNull(json, "to", queue.To.Value);
                json.WriteString("error", queue.Error == ErrorCode.None ? null : queue.Error.ToString());
                json.WriteBoolean("preview", isPreview);
            });
        }
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

    private static void WriteFields(Utf8JsonWriter json, string name, GroupDescription group)
    {
        json.WriteString("group", name);
        json.WriteString("kind", Text(group.Kind));
        json.WriteString("state", Text(group.State));
        json.WriteNumber("generation", group.Generation.Value);
        json.WriteStartArray("members");
        foreach (MemberDescription member in group.Members)
            WriteMember(json, member);
        json.WriteEndArray();
        json.WriteStartArray("queues");
        foreach (GroupQueueDescription queue in group.Queues)
            WriteQueue(json, group, queue);
        json.WriteEndArray();
    }

    private static void WriteMember(Utf8JsonWriter json, MemberDescription member)
    {
        json.WriteStartObject();
        json.WriteString("member", member.Member);
        json.WriteString("instance", member.InstanceId);
        json.WriteString("client", member.Client);
        json.WriteString("address", member.Address.Length == 0 ? null : member.Address);
        json.WriteNumber("sessionTimeoutMs", (long)member.SessionTimeout.TotalMilliseconds);
        json.WriteNumber("sinceLastCallMs", (long)member.SinceLastCall.TotalMilliseconds);
        json.WriteStartArray("topics");
        foreach (TopicSubscription subscription in member.Subscriptions)
        {
            json.WriteStartObject();
            json.WriteString("topic", subscription.Topic);
            json.WriteStartArray("tags");
            foreach (string tag in subscription.Tags)
                json.WriteStringValue(tag);
            json.WriteEndArray();
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteNumber("ownedCount", member.OwnedCount);
        json.WriteNumber("pendingCount", member.PendingCount);
        json.WriteEndObject();
    }

    private static void WriteQueue(Utf8JsonWriter json, GroupDescription group, GroupQueueDescription queue)
    {
        json.WriteStartObject();
        json.WriteString("topic", queue.Topic);
        json.WriteNumber("queue", queue.Number);
        WriteMemberOrNull(json, "owner", group, queue.Owner);
        WriteMemberOrNull(json, "target", group, queue.Target);
        json.WriteString("instance", queue.InstanceId);
        WriteNumberOrNull(json, "committed", queue.Committed.Value);
        json.WriteString(
            "committedTime",
            queue.CommittedMs < 0
                ? null
                : BodyTime.Text(DateTimeOffset.FromUnixTimeMilliseconds(queue.CommittedMs)));
        json.WriteNumber("start", queue.Start.Value);
        json.WriteNumber("end", queue.End.Value);
        json.WriteNumber("lag", queue.Lag);
        WriteNumberOrNull(json, "lagMs", queue.LagMs);
        json.WriteEndObject();
    }

    private static void WriteMemberOrNull(Utf8JsonWriter json, string name, GroupDescription group, int member)
    {
        if (member < 0 || member >= group.Members.Count)
            json.WriteNull(name);
        else
            json.WriteString(name, group.Members[member].Member);
    }

    private static void WriteNumberOrNull(Utf8JsonWriter json, string name, long value)
    {
        if (value < 0)
            json.WriteNull(name);
        else
            json.WriteNumber(name, value);
    }

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
