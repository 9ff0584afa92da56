using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace EQueue.Client;

/// <summary>The client's levels, computed when somebody asks for them, over the producers and readers that are not
/// disposed.</summary>
internal static class ClientGauges
{
    private static readonly ConcurrentDictionary<Producer, bool> Producers = new();
    private static readonly ConcurrentDictionary<MessageStream, bool> Streams = new();

    static ClientGauges()
    {
        Meter meter = ClientMeter.Meter;
        meter.CreateObservableUpDownCounter(
            "equeue.client.in_flight.requests",
            static () => SumByServer(static lane => lane.InFlight),
            "{request}",
            "Produce requests that are not answered.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.in_flight.size",
            static () => SumByServer(static lane => lane.InFlightBytes),
            "By",
            "Batches in produce requests that are not answered.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.buffer.size",
            static () => new Measurement<long>(
                Producers.Keys.Sum(static producer => producer.BufferedBytes),
                new KeyValuePair<string, object?>(TelemetryTags.System, TelemetryTags.SystemValue)),
            "By",
            "Memory held for messages that are not acknowledged.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.waiting_sends",
            static () => Sum(Producers.Keys.SelectMany(static producer => producer.Waiting()), TagsOfTopic),
            "{message}",
            "Sends that wait for a route or for memory.");
        meter.CreateObservableUpDownCounter(
            "equeue.client.prefetch.size",
            static () => Sum(Streams.Keys.SelectMany(static stream => stream.Prefetched()), TagsOf),
            "By",
            "Answers that were fetched and are not read yet.");
        meter.CreateObservableGauge(
            "equeue.client.backlog",
            static () => Sum(Streams.Keys.SelectMany(static stream => stream.Backlogs()), TagsOfReader),
            "{message}",
            "Messages behind the last one processed, as far as the last fetches told.");
    }

    public static void Add(Producer producer) => Producers.TryAdd(producer, true);

    public static void Add(MessageStream stream) => Streams.TryAdd(stream, true);

    public static void Remove(Producer producer) => Producers.TryRemove(producer, out _);

    public static void Remove(MessageStream stream) => Streams.TryRemove(stream, out _);

    private static IEnumerable<Measurement<long>> SumByServer(Func<BrokerLane, long> level) => Sum(
        Producers.Keys.SelectMany(static producer => producer.Lanes())
            .Select(lane => new KeyValuePair<ServerAddress, long>(lane.Address, level(lane))),
        TagsOf);

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
