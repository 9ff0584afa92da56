using EQueue.Cli.Output;

namespace EQueue.Cli.Finding;

/// <summary>What <c>find</c> was asked for: one message, the last ones, those with a key, or those of a time.</summary>
internal sealed record FindRequest
{
    public required string Topic { get; init; }

    /// <summary>The only queue to look in; <see langword="null"/>: all, or with a key the one it belongs to.</summary>
    public int? Queue { get; init; }

    /// <summary>The message's place in the queue.</summary>
    public long? Offset { get; init; }

    public string? Key { get; init; }

    /// <summary>Whether a key is looked for in every queue.</summary>
    public bool AllQueues { get; init; }

    public DateTimeOffset? Since { get; init; }

    public DateTimeOffset? Until { get; init; }

    /// <summary>How many of the latest messages.</summary>
    public int? Last { get; init; }

    /// <summary>The most messages to print.</summary>
    public int Limit { get; init; }

    public MessageFormat Format { get; init; }

    /// <summary>What was looked for, for people.</summary>
    public string Sought =>
        Offset is { } offset ? $"no message at queue {Queue} offset {offset}"
        : Key is not null ? $"no message with key '{Key}'"
        : "no message";
}
