using EQueue.Broker;

namespace EQueue.Server.Telemetry;

/// <summary>What a series is about, where its labels name a topic, a group, or both.</summary>
/// <param name="Topic">Null: none, or several together.</param>
/// <param name="Group">Null: none, or several together.</param>
internal readonly record struct SeriesSubject(string? Topic, string? Group)
{
    /// <summary>What labels name; null: neither a topic nor a group.</summary>
    public static SeriesSubject? Find(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        SeriesSubject? subject = null;
        foreach ((string tag, object? value) in tags)
        {
            if (value is not string name || name == BrokerTelemetry.Others)
                continue;
            if (tag == BrokerTelemetry.TopicTag)
                subject = (subject ?? default) with { Topic = name };
            else if (tag == BrokerTelemetry.GroupTag)
                subject = (subject ?? default) with { Group = name };
        }

        return subject;
    }
}
