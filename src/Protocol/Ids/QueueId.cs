namespace EQueue.Client;

/// <summary>A queue inside one log: given by a state record, never reused. 0 is the log's own state.</summary>
/// <param name="Value">0 or more.</param>
public readonly record struct QueueId(uint Value)
{
    /// <summary>The reserved queue that holds the log's state records.</summary>
    public static readonly QueueId State;

    /// <inheritdoc/>
    public override string ToString() => Value.ToString();
}
