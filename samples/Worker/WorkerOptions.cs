namespace Worker;

/// <summary>What a worker reads, and how often it tries.</summary>
internal sealed record WorkerOptions
{
    public required string Topic { get; init; }

    public required string Group { get; init; }

    /// <summary>Where messages go that never succeed.</summary>
    public string DeadLetters => $"{Topic}.dead";

    public int MostAttempts { get; init; } = 3;

    /// <summary>Before the second attempt; twice as long before each further one.</summary>
    public TimeSpan FirstDelay { get; init; } = TimeSpan.FromMilliseconds(200);
}
