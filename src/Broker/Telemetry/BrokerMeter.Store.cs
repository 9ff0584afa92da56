using System.Diagnostics.Metrics;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <content>What the store counts, and the topics that bound their backlog.</content>
internal sealed partial class BrokerMeter
{
    private void AddStoreCounters()
    {
        Count("equeue.store.appends", "{request}", "Requests that staged a batch.", () => Store.Figures.Appends);
        Count("equeue.store.batches", "{batch}", "Batches stored.", () => Store.Figures.Batches);
        Count("equeue.store.messages", "{message}", "Messages stored.", () => Counters.AppendedMessages);
        Count(
            "equeue.store.duplicate_batches", "{batch}", "Batches that were stored before.",
            () => Store.Figures.DuplicateBatches);
        Count("equeue.store.write.size", "By", "Bytes written to the log.", () => Store.Figures.BytesWritten);
        Count("equeue.store.writes", "{write}", "Writes to the log.", () => Store.Figures.Writes);
        Count("equeue.store.syncs", "{sync}", "fdatasync calls for the log.", () => Store.Figures.Syncs);
        _meter.CreateObservableCounter(
            "equeue.store.reads", MeasureReads, "{read}", "Reads of messages, by where they were.");
        Count(
            "equeue.store.removed_segments", "{segment}", "Segments removed by retention.",
            () => Store.Figures.SegmentsRemoved);
        Count(
            "equeue.store.packed_segments", "{segment}", "Segments replaced by packed ones.",
            () => Store.Figures.SegmentsPacked);
        Count("equeue.store.snapshots", "{snapshot}", "Snapshots written.", () => Store.Figures.Snapshots);
        Count("equeue.store.scrub.size", "By", "Bytes read again by the scrub.", () => Store.Figures.ScrubbedBytes);
        Count(
            "equeue.store.scrub.bad_ranges", "{range}", "Damaged ranges that the scrub has found.",
            () => Store.Figures.ScrubBadRanges);
        Count("equeue.store.scrub.passes", "{pass}", "Scrubs of the whole log.", () => Store.Figures.ScrubPasses);
    }

    private void AddStoreLevels()
    {
        Level("equeue.store.segments", "{segment}", "Segment files.", () => Store.Figures.Segments);
        Level(
            "equeue.store.lost_segments", "{segment}", "Segment files that are gone or cannot be read.",
            () => Store.Figures.SegmentsLost);
        _meter.CreateObservableGauge(
            "equeue.store.disk.oldest_call", () => Store.Figures.OldestDiskCallMs / 1000.0, "s",
            "How long the oldest write or fdatasync under way has not ended.");
        Level("equeue.store.disk.free", "By", "Free bytes of the volume.", () => Store.Figures.FreeBytes);
        _meter.CreateObservableGauge(
            "equeue.store.read_only", () => Store.Figures.IsReadOnly ? 1 : 0, "{state}",
            "1 while messages are refused because the disk is nearly full.");
        _meter.CreateObservableGauge(
            "equeue.store.scrub.last_end", () => Store.Figures.LastScrubEndTimeMs / 1000.0, "s",
            "Unix time at which the last scrub of the whole log ended; 0 = none has.");
        _meter.CreateObservableGauge(
            "equeue.store.position", MeasurePositions, "By", "The log's watermarks, in bytes from its beginning.");
    }

    private void AddTopics()
    {
        _meter.CreateObservableGauge(
            "equeue.topic.backlog", () => MeasureTopics(figures => figures.Messages), "{message}",
            "What the slowest group has not committed, of topics with a bound.");
        _meter.CreateObservableGauge(
            "equeue.topic.backlog_size", () => MeasureTopics(figures => figures.Bytes), "By",
            "The same in bytes, of topics with a bound of bytes.");
        _meter.CreateObservableGauge(
            "equeue.topic.waiting_batches", () => MeasureTopics(figures => figures.Waiting), "{batch}",
            "Batches that wait for room.");
        CountTopics("equeue.topic.messages", "{message}", "Messages stored.", topic => topic.TakenMessages);
        CountTopics("equeue.topic.write.size", "By", "Bytes of the entries stored.", topic => topic.TakenBytes);
        CountTopics(
            "equeue.topic.fetched_messages", "{message}", "Messages given to readers; each reader counts.",
            topic => topic.GivenMessages);
        CountTopics(
            "equeue.topic.fetch.size", "By", "Bytes of the entries given to readers.", topic => topic.GivenBytes);
        _meter.CreateObservableGauge(
            "equeue.topic.kept_messages", () => MeasureEachTopic(topic => topic.KeptMessages), "{message}",
            "Messages that the topic keeps.");
        _meter.CreateObservableGauge(
            "equeue.topic.kept_size", () => MeasureEachTopic(topic => topic.KeptBytes), "By",
            "Bytes of their entries.");
    }

    private void CountTopics(string name, string unit, string description, Func<TopicFigures, long> read) =>
        _meter.CreateObservableCounter(name, () => MeasureEachTopic(read), unit, description);

    private IEnumerable<Measurement<long>> MeasureEachTopic(Func<TopicFigures, long> read) => _topics.Show(read)
        .Select(topic => Of(read(topic), BrokerTelemetry.TopicTag, topic.Name));

    private Measurement<long>[] MeasureReads()
    {
        StoreFigures figures = Store.Figures;
        return
        [
            Of(figures.MemoryReads, "equeue.read.source", "memory"),
            Of(figures.DiskReads, "equeue.read.source", "disk"),
        ];
    }

    private Measurement<long>[] MeasurePositions()
    {
        LogWatermarks marks = Store.Watermarks;
        return
        [
            Of(marks.Begin.Value, "equeue.watermark", "begin"),
            Of(marks.Staged.Value, "equeue.watermark", "staged"),
            Of(marks.Written.Value, "equeue.watermark", "written"),
            Of(marks.Durable.Value, "equeue.watermark", "durable"),
            Of(marks.Visible.Value, "equeue.watermark", "visible"),
        ];
    }

    /// <summary>The topics with the largest backlog, and the sum of the rest.</summary>
    private IEnumerable<Measurement<long>> MeasureTopics(Func<BacklogFigures, long> read)
    {
        IReadOnlyList<(string Topic, BacklogFigures Figures)> topics = _ranking.Show(read);
        foreach ((string topic, BacklogFigures figures) in topics.Take(_options.MaxSeries))
            yield return Of(read(figures), BrokerTelemetry.TopicTag, topic);
        if (topics.Count > _options.MaxSeries)
        {
            yield return Of(
                topics.Skip(_options.MaxSeries).Sum(topic => read(topic.Figures)),
                BrokerTelemetry.TopicTag, BrokerTelemetry.Others);
        }
    }
}
