using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>Every <see cref="TopicOptions.RetentionInterval"/> asks the store to let go of what topics no longer
/// keep.</summary>
/// <remarks>
/// Age and count hold for each queue. A round takes a bounded share of it by age, never all; the store takes none
/// while its clock is in doubt. The bytes of a topic are shared out among its queues by what each holds, so all give up
/// the same part. The bound of the whole log is looked after each second: a small volume is full sooner than a round
/// comes. One round at a time; one that fails is logged and the next one tries again.
/// </remarks>
internal sealed class RetentionLoop(ModuleContext context, TopicCatalogue catalogue, BacklogTable backlogs)
    : PeriodicLoop(Soon(context.Options.Topics.RetentionInterval), context.Time)
{
    private readonly QueueStore _store = context.Store;
    private readonly TimeSpan _interval = context.Options.Topics.RetentionInterval;
    private long? _lastRound;

    protected override async Task RunOnceAsync(CancellationToken cancellationToken)
    {
        try
        {
            if (_lastRound is { } last && Time.GetElapsedTime(last) < 0.9 * _interval)
            {
                await _store.ApplyBoundAsync(cancellationToken);
                return;
            }

            _lastRound = Time.GetTimestamp();
            Dictionary<TopicId, long> bytes = SumBytes();
            int moved = await _store.ApplyRetentionAsync(queue => LimitsOf(queue, bytes), cancellationToken);
            if (moved > 0)
                context.Logger.StartsMoved(moved);
            backlogs.RefreshStarts();
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            context.Logger.RetentionFailed(exception);
        }
    }

    /// <summary>The share of a queue that a round may take by age: one wrong look at anything does not take it all.
    /// </summary>
    private const double AgeShare = 1.0 / 16;

    /// <summary>The same of a queue whose age is so short that more than <see cref="AgeShare"/> comes in a round: twice
    /// what comes in one, but no more than this.</summary>
    private const double MostAgeShare = 1.0 / 2;

    /// <summary>A broker that never lives for an interval must not keep everything without end.</summary>
    private static TimeSpan Soon(TimeSpan interval) =>
        interval < TimeSpan.FromSeconds(1) ? interval : TimeSpan.FromSeconds(1);

    private Dictionary<TopicId, long> SumBytes()
    {
        var bytes = new Dictionary<TopicId, long>();
        foreach (QueueView queue in _store.Queues)
            bytes[queue.TopicId] = bytes.GetValueOrDefault(queue.TopicId) + queue.Bytes;
        return bytes;
    }

    private RetentionLimits LimitsOf(in QueueView queue, Dictionary<TopicId, long> bytesOfTopics)
    {
        if (!catalogue.TryFindByQueue(queue.Id, out Topic? topic))
            return default;

        TopicSettings settings = topic.Record.Settings;
        long? bytes = null;
        if (settings.RetentionBytes is > 0 and { } most && bytesOfTopics.GetValueOrDefault(queue.TopicId) is var all
            && all > most)
        {
            bytes = (long)((double)queue.Bytes / all * most);
        }

        TimeSpan? age = settings.RetentionAge is { } set && set > TimeSpan.Zero ? set : null;
        return new RetentionLimits(
            age,
            bytes,
            settings.RetentionCount is > 0 ? settings.RetentionCount : null,
            AgeShare: age is null
                ? null
                : Math.Clamp(2 * (_interval / age.Value), AgeShare, MostAgeShare));
    }
}
