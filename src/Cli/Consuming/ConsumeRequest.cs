using EQueue.Cli.Output;

namespace EQueue.Cli.Consuming;

/// <summary>What <c>consume</c> was asked for.</summary>
internal sealed record ConsumeRequest
{
    public required string Topic { get; init; }

    /// <summary>The group whose progress is read and committed; <see langword="null"/> to read one queue.</summary>
    public string? Group { get; init; }

    /// <summary>The queue to read without a group.</summary>
    public int Queue { get; init; }

    public StartPosition From { get; init; }

    public IReadOnlyList<string> Tags { get; init; } = [];

    /// <summary>Messages after which to end; <see langword="null"/> for no bound.</summary>
    public long? Count { get; init; }

    public bool Follow { get; init; }

    /// <summary>Whether the group's messages may be taken from its members and from where it has come to.</summary>
    public bool TakesPart { get; init; }

    /// <summary>How long to wait for the next message before ending; <see langword="null"/> without end.</summary>
    public TimeSpan? IdleExit { get; init; }

    public MessageFormat Format { get; init; }
}
