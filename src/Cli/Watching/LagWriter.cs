using System.Text.Json;
using EQueue.Cli.Output;

namespace EQueue.Cli.Watching;

/// <summary>Prints how far groups are behind.</summary>
internal static class LagWriter
{
    private static readonly string[] Columns = ["group", "topic", "members", "queues", "lag", "age of lag"];

    public static void Write(CliStreams streams, IReadOnlyList<GroupLagLine> lines, DateTimeOffset time, bool isJson)
    {
        if (!isJson)
        {
            WriteTable(streams, lines);
            return;
        }

        foreach (GroupLagLine line in lines)
        {
            JsonLine.Write(streams.Output, json =>
            {
                json.WriteString("time", BodyTime.Text(time));
                WriteFields(json, line);
            });
        }
    }

    public static void WriteTable(CliStreams streams, IReadOnlyList<GroupLagLine> lines) => TableWriter.Write(
        streams,
        Columns,
        [
            .. lines.Select(line => new[]
            {
                line.Group, line.Topic, TableWriter.Cell(line.MemberCount), TableWriter.Cell(line.QueueCount),
                TableWriter.Cell(line.Lag),
                TableWriter.Age(line.LagMs, streams),
            }),
        ]);

    public static void WriteFields(Utf8JsonWriter json, GroupLagLine line)
    {
        json.WriteString("group", line.Group);
        json.WriteString("topic", line.Topic);
        json.WriteNumber("memberCount", line.MemberCount);
        json.WriteNumber("queueCount", line.QueueCount);
        json.WriteNumber("lag", line.Lag);
        if (line.LagMs < 0)
            json.WriteNull("lagMs");
        else
            json.WriteNumber("lagMs", line.LagMs);
    }
}
