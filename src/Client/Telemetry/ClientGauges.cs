using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace EQueue.Client;

/// <summary>The client's levels, computed when a listener asks for them, over the producers and readers that are not
/// disposed.</summary>
internal static class ClientGauges
{
    private static readonly ConcurrentDictionary<ISendLevels, bool> Senders = new();
    private static readonly ConcurrentDictionary<IReadLevels, bool> Readers = new();

    static ClientGauges()
    {
        Meter meter = ClientMeter.Meter;
        meter.CreateObservableUpDownCounter(
            "equeue.client.in_flight.requests",
            static () => Sum(Senders.Keys.SelectMany(static sender => sender.InFlightRequests()), TagsOf),
            "{request}",
            "Produce requests that are not answered.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.in_flight.size",
            static () => Sum(Senders.Keys.SelectMany(static sender => sender.InFlightBytes()), TagsOf),
            "By",
            "Batches in produce requests that are not answered.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.buffer.size",
            static () => new Measurement<long>(
                Senders.Keys.Sum(static sender => sender.BufferedBytes),
                new KeyValuePair<string, object?>(TelemetryTags.System, TelemetryTags.SystemValue)),
            "By",
            "Memory held for messages that are not acknowledged.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.waiting_sends",
            static () => Sum(Senders.Keys.SelectMany(static sender => sender.WaitingSends()), TagsOfTopic),
            "{message}",
            "Sends that wait for a route or for memory.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.prefetch.size",
            static () => Sum(Readers.Keys.SelectMany(static reader => reader.Prefetched()), TagsOf),
            "By",
            "Answers that were fetched and are not read yet.");
        meter.CreateObservableGauge(
            "equeue.client.backlog",
            static () => Sum(Readers.Keys.SelectMany(static reader => reader.Backlogs()), TagsOfReader),
            "{message}",
            "Messages behind the last one processed, as far as the last fetches told.");
    }

    public static void Add(ISendLevels sender) => Senders.TryAdd(sender, true);

    public static void Add(IReadLevels reader) => Readers.TryAdd(reader, true);

    public static void Remove(ISendLevels sender) => Senders.TryRemove(sender, out _);

    public static void Remove(IReadLevels reader) => Readers.TryRemove(reader, out _);

    /// <summary>One measurement for each set of attributes, however many objects share it.</summary>
    private static IEnumerable<Measurement<long>> Sum<TKey>(
        IEnumerable<KeyValuePair<TKey, long>> levels, Func<TKey, TagList> tagsOf)
        where TKey : notnull
    {
        var sums = new Dictionary<TKey, long>();
        foreach ((TKey key, long level) in levels)
            sums[key] = sums.GetValueOrDefault(key) + level;
        return sums.Select(sum => new Measurement<long>(sum.Value, tagsOf(sum.Key)));
    }

    private static TagList TagsOf(ServerAddress server)
    {
        var tags = default(TagList);
        ClientMeter.AddServer(ref tags, server);
        return tags;
    }

    private static TagList TagsOfTopic(string topic) => new()
    {
        { TelemetryTags.System, TelemetryTags.SystemValue },
        { TelemetryTags.Topic, topic },
    };

    private static TagList TagsOfReader((string Topic, string? Group) reader)
    {
        TagList tags = TagsOfTopic(reader.Topic);
        if (reader.Group is not null)
            tags.Add(TelemetryTags.Group, reader.Group);
        return tags;
    }
}
