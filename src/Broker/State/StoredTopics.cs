using System.Collections.Concurrent;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>The topics as the log has them.</summary>
internal sealed class StoredTopics : IStatePart
{
    private readonly ConcurrentDictionary<string, TopicRecord> _topics = new();

    public IEnumerable<TopicRecord> Topics => _topics.Values;

    /// <inheritdoc/>
    public IReadOnlyList<byte> Kinds => [TopicRecord.Kind];

    /// <inheritdoc/>
    public void Apply(in StateRecord record)
    {
        if (record.IsDeleted)
        {
            _topics.TryRemove(TopicRecord.ReadKey(record), out _);
            return;
        }

        var topic = TopicRecord.Read(record);
        _topics[topic.Name] = topic;
    }

    /// <inheritdoc/>
    public IEnumerable<StateEntry> Capture() => _topics.Values.Select(static topic => topic.ToEntry());
}
