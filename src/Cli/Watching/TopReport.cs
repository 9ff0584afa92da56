using System.Globalization;
using System.Text;
using EQueue.Cli.Output;

namespace EQueue.Cli.Watching;

/// <summary>Topics by rate, groups by lag, and connections: what changed between two looks.</summary>
/// <param name="Connections">Now.</param>
/// <param name="RequestsPerSecond">Between the looks.</param>
/// <param name="MessagesPerSecond">Stored between the looks, in all topics that were looked into.</param>
/// <param name="TopicCount">Topics there are.</param>
/// <param name="Topics">Those with the highest rates.</param>
/// <param name="Groups">Those furthest behind.</param>
/// <param name="Memory">Pools of memory, the fullest first.</param>
internal sealed record TopReport(
    long Connections,
    double RequestsPerSecond,
    double MessagesPerSecond,
    int TopicCount,
    IReadOnlyList<(string Topic, double PerSecond, long Messages)> Topics,
    IReadOnlyList<GroupLagLine> Groups,
    IReadOnlyList<MemoryLevel> Memory)
{
    /// <summary>Pools in the line of text.</summary>
    private const int ShownPools = 3;

    /// <param name="before">The earlier look.</param>
    /// <param name="now">The later one.</param>
    /// <param name="groups">All groups, the furthest behind first.</param>
    /// <param name="rows">The most topics and groups to tell.</param>
    /// <param name="time">The clock of both.</param>
    public static TopReport Of(
        Load before, Load now, IReadOnlyList<GroupLagLine> groups, int rows, TimeProvider time)
    {
        double seconds = Math.Max(time.GetElapsedTime(before.Time, now.Time).TotalSeconds, 0.001);
        // A topic of the same name may have been made anew, a broker started again: no rate is below zero.
        List<(string Topic, double PerSecond, long Messages)> rates =
        [
            .. now.Ends.Select(topic => (
                topic.Key,
                Math.Max(0, topic.Value - before.Ends.GetValueOrDefault(topic.Key)) / seconds,
                topic.Value)),
        ];
        return new TopReport(
            now.Connections,
            Math.Max(0, now.Requests - before.Requests) / seconds,
            rates.Sum(topic => topic.PerSecond),
            now.TopicCount,
            [
                .. rates.OrderByDescending(topic => topic.PerSecond)
                    .ThenBy(topic => topic.Topic, StringComparer.Ordinal).Take(rows),
            ],
            [.. groups.Take(rows)],
            now.Memory);
    }

    public void Write(CliStreams streams, DateTimeOffset time, bool isJson)
    {
        if (isJson)
        {
            WriteJson(streams.Output, time);
            return;
        }

        streams.Output.Write(Encoding.UTF8.GetBytes(
            $"{BodyTime.Text(time)} connections {Connections} requests/s {Text(RequestsPerSecond)} "
            + $"messages/s {Text(MessagesPerSecond)} topics {TopicCount}"
            + $"{(TopicCount > Load.MostTopics ? $" (the first {Load.MostTopics} by name are looked into)" : "")}"
            + $"{string.Concat(Memory.Take(ShownPools).Select(static (pool, i) =>
                $"{(i == 0 ? " memory" : ",")} {pool.Pool} {pool.Percent} %"))}\n"));
        TableWriter.Write(
            streams,
            ["topic", "messages/s", "messages ever"],
            [
                .. Topics.Select(topic => new[]
                {
                    topic.Topic, Text(topic.PerSecond), TableWriter.Cell(topic.Messages),
                }),
            ]);
        LagWriter.WriteTable(streams, Groups);
    }

    private static string Text(double rate) => rate.ToString("0.0", CultureInfo.InvariantCulture);

    private void WriteJson(Stream output, DateTimeOffset time) => JsonLine.Write(output, json =>
    {
        json.WriteString("time", BodyTime.Text(time));
        json.WriteNumber("connections", Connections);
        json.WriteNumber("requestsPerSecond", Math.Round(RequestsPerSecond, 1));
        json.WriteNumber("messagesPerSecond", Math.Round(MessagesPerSecond, 1));
        json.WriteNumber("topicCount", TopicCount);
        json.WriteStartArray("topics");
        foreach ((string topic, double perSecond, long messages) in Topics)
        {
            json.WriteStartObject();
            json.WriteString("topic", topic);
            json.WriteNumber("messagesPerSecond", Math.Round(perSecond, 1));
            json.WriteNumber("messages", messages);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteStartArray("groups");
        foreach (GroupLagLine line in Groups)
        {
            json.WriteStartObject();
            LagWriter.WriteFields(json, line);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteStartArray("memory");
        foreach (MemoryLevel level in Memory)
        {
            json.WriteStartObject();
            json.WriteString("pool", level.Pool);
            json.WriteNumber("usedBytes", level.UsedBytes);
            json.WriteNumber("maxBytes", level.MaxBytes);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    });
}
