using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>
/// The topics that clients can see, by name and by queue. A topic appears here when its record is visible in the log.
/// </summary>
/// <remarks>Look-ups are free of locks; changes go one at a time.</remarks>
internal sealed partial class TopicCatalogue(ModuleContext context, BacklogTable backlogs) : IBrokerModule, IDisposable
{
    private readonly QueueStore _store = context.Store;
    private readonly BrokerState _state = context.State;
    private readonly LimitOptions _limits = context.Limits;
    private readonly ILogger _logger = context.Logger;
    private readonly SemaphoreSlim _changes = new(1, 1);
    private readonly ConcurrentDictionary<string, Topic> _topics = new();
    private readonly ConcurrentDictionary<uint, Topic> _topicOfQueue = new();
    private volatile TopicOptions _defaults = context.Options.Topics;
    private long _version = 1;
    private Listing _sorted = new(0, []);

    /// <summary>What a topic is made of when its maker does not say.</summary>
    public TopicOptions Defaults
    {
        get => _defaults;
        set => _defaults = value;
    }

    /// <summary>Rises with each change.</summary>
    public long Version => Volatile.Read(ref _version);

    public int Count => _topics.Count;

    public int QueueCount => _topicOfQueue.Count;

    /// <summary>Takes over what the log holds; before the broker serves.</summary>
    public Task LoadAsync()
    {
        ILookup<TopicId, QueueView> queues = _store.Queues.ToLookup(queue => queue.TopicId);
        foreach (TopicRecord record in _state.Topics.Topics)
        {
            Topic topic =
                Publish(record, [.. queues[record.Id].OrderBy(queue => queue.Number).Select(queue => queue.Id)]);
            _store.SetWritable(topic.Unwritable(), false);
        }

        return Task.CompletedTask;
    }

    /// <summary>Lets senders into the topics with a bound, once the progress of groups is known; before the broker
    /// serves.</summary>
    public async Task MeasureAsync()
    {
        foreach (Topic topic in Topics)
            await backlogs.MeasureAsync(topic.Backlog, topic.Queues);
    }

    public IEnumerable<Topic> Topics => _topics.Values;

    public bool TryFind(string name, [NotNullWhen(true)] out Topic? topic) => _topics.TryGetValue(name, out topic);

    public bool TryFindByQueue(QueueId queue, [NotNullWhen(true)] out Topic? topic) =>
        _topicOfQueue.TryGetValue(queue.Value, out topic);

    /// <exception cref="EQueueException">UnknownTopic.</exception>
    public Topic Find(string name) =>
        TryFind(name, out Topic? topic)
            ? topic
            : throw new EQueueException(
                ErrorCode.UnknownTopic,
                NameRules.IsValid(name) ? $"There is no topic '{name}'." : "There is no topic of that name.");

    /// <summary>Topics after a name, in ordinal order.</summary>
    public ArraySegment<Topic> List(string? after, int limit)
    {
        Listing listing = Volatile.Read(ref _sorted);
        if (listing.Version != Version)
        {
            long version = Version;
            listing = new Listing(version, [.. _topics.Values.OrderBy(topic => topic.Name, StringComparer.Ordinal)]);
            Volatile.Write(ref _sorted, listing);
        }

        int first = 0;
        if (after is not null)
        {
            int last = listing.Topics.Length;
            while (first < last)
            {
                int middle = first + ((last - first) / 2);
                if (string.CompareOrdinal(listing.Topics[middle].Name, after) <= 0)
                    first = middle + 1;
                else
                    last = middle;
            }
        }

        return new ArraySegment<Topic>(listing.Topics, first, Math.Min(limit, listing.Topics.Length - first));
    }

    /// <exception cref="EQueueException">TopicExists, InvalidName, InvalidArgument, TooManyQueues.</exception>
    public async Task<Topic> CreateAsync(string name, TopicSettings settings, CancellationToken cancellationToken)
    {
        RequestRules.CheckName(name, "topic");
        TopicRules.CheckSettings(settings, _limits);
        await _changes.WaitAsync(cancellationToken);
        try
        {
            if (_topics.ContainsKey(name))
                throw new EQueueException(ErrorCode.TopicExists, $"The topic '{name}' exists.");
            return await MakeAsync(name, settings);
        }
        finally
        {
            _changes.Release();
        }
    }

    /// <summary>The topic, made now if need be; askers at the same time get the same one.</summary>
    /// <exception cref="EQueueException">InvalidName, TooManyQueues.</exception>
    public async Task<(Topic Topic, bool IsNew)> FindOrCreateAsync(string name, CancellationToken cancellationToken)
    {
        RequestRules.CheckName(name, "topic");
        await _changes.WaitAsync(cancellationToken);
        try
        {
            return _topics.TryGetValue(name, out Topic? topic)
                ? (topic, false)
                : (await MakeAsync(name, TopicSettings.None), true);
        }
        finally
        {
            _changes.Release();
        }
    }

    /// <exception cref="EQueueException">UnknownTopic, InvalidArgument, TooManyQueues.</exception>
    public async Task<Topic> AlterAsync(string name, TopicSettings changes, CancellationToken cancellationToken)
    {
        TopicRules.CheckSettings(changes, _limits);
        await _changes.WaitAsync(cancellationToken);
        try
        {
            Topic topic = Find(name);
            int queueCount = changes.QueueCount ?? topic.Queues.Length;
            if (queueCount < topic.Queues.Length)
            {
                throw RequestRules.Invalid(
                    $"The queues of a topic only grow: '{name}' has {topic.Queues.Length}, asked for {queueCount}.");
            }

            TopicRecord record = topic.Record with { Settings = changes.Or(topic.Record.Settings) };
            Topic altered = await StoreAsync(record, topic.Queues, queueCount);
            _logger.TopicAltered(name, altered.Queues.Length);
            return altered;
        }
        finally
        {
            _changes.Release();
        }
    }

    /// <summary>Removes a topic.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="whenHidden">Called when the topic cannot be found any more and before its removal is
    /// stored.</param>
    /// <param name="cancellationToken">Ends the wait for other changes, not the removal.</param>
    /// <returns>The topic that is gone.</returns>
    /// <exception cref="EQueueException">UnknownTopic.</exception>
    public async Task<Topic> DeleteAsync(string name, Action whenHidden, CancellationToken cancellationToken)
    {
        await _changes.WaitAsync(cancellationToken);
        try
        {
            Topic topic = Find(name);
            Hide(topic);
            whenHidden();
            try
            {
                await _store.RemoveQueuesAsync(topic.Queues, [TopicRecord.Removed(name)], CancellationToken.None);
            }
            catch
            {
                Publish(topic);
                throw;
            }

            HashSet<QueueId> gone = topic.Queues.ToHashSet();
            _state.Groups.ForgetOffsets(queue => gone.Contains(queue.Id));
            backlogs.Remove(topic.Id);
            _logger.TopicDeleted(name, topic.Id, topic.Queues.Length);
            return topic;
        }
        finally
        {
            _changes.Release();
        }
    }

    public void Dispose() => _changes.Dispose();

    private async Task<Topic> MakeAsync(string name, TopicSettings settings)
    {
        if (_topics.Count >= _limits.MaxTopics)
        {
            throw new EQueueException(
                ErrorCode.TooManyQueues, $"The broker has {_topics.Count} topics, its limit (Limits:MaxTopics).");
        }

        TopicSettings whole = settings.Or(Defaults.ToSettings(_limits));
        var record = new TopicRecord(name, TopicId.NewId(), _store.NowMs, whole);
        Topic topic = await StoreAsync(record, [], whole.QueueCount ?? Defaults.QueueCount);
        _logger.TopicCreated(name, topic.Id, topic.Queues.Length);
        return topic;
    }

    private async Task<Topic> StoreAsync(TopicRecord record, QueueId[] queues, int queueCount)
    {
        int added = queueCount - queues.Length;
        if (QueueCount + (long)added > _limits.MaxQueues)
        {
            throw new EQueueException(
                ErrorCode.TooManyQueues,
                $"The broker has {QueueCount} queues; {added} more are beyond its limit of "
                + $"{_limits.MaxQueues} (Limits:MaxQueues).");
        }

        if (added == 0)
        {
            await _store.AppendStateAsync([record.ToEntry()], CancellationToken.None);
        }
        else
        {
            QueueId[] opened = await _store.OpenQueuesAsync(
                record.Id, queues.Length, added, [record.ToEntry()], CancellationToken.None);
            queues = [.. queues, .. opened];
        }

        Topic topic = Publish(record, queues);
        await backlogs.MeasureAsync(topic.Backlog, topic.Queues);
        return topic;
    }

    /// <summary>A bounded topic lets no batch in before <see cref="BacklogTable.MeasureAsync"/>.</summary>
    private Topic Publish(TopicRecord record, QueueId[] queues)
    {
        TopicTraffic traffic = _topics.TryGetValue(record.Name, out Topic? former) && former.Id == record.Id
            ? former.Traffic : new TopicTraffic();
        var topic = new Topic(record, queues, backlogs.ApplyRules(record), traffic);
        Publish(topic);
        return topic;
    }

    private void Publish(Topic topic)
    {
        foreach (QueueId queue in topic.Queues)
            _topicOfQueue[queue.Value] = topic;
        _topics[topic.Name] = topic;
        NoteReadable(topic, topic.Unreadable);
        topic.Backlog?.SetUnwritable(topic.Unwritable());
        Interlocked.Increment(ref _version);
    }

    private void Hide(Topic topic)
    {
        _topics.TryRemove(topic.Name, out _);
        foreach (QueueId queue in topic.Queues)
            _topicOfQueue.TryRemove(queue.Value, out _);
        NoteReadable(topic, []);
        Interlocked.Increment(ref _version);
    }

    private sealed record Listing(long Version, Topic[] Topics);
}
