namespace EQueue.Client;

/// <summary>What a look-up gave.</summary>
/// <param name="Messages">Copies of their own, in the order of their stored times, the oldest first; those of one queue
/// in the order of their offsets.</param>
/// <param name="HasMore">Whether there are more than the limit allowed; for the latest messages: older ones.</param>
/// <param name="UnreadableCount">Offsets passed over because they are damaged on the broker's disk, or compressed in
/// another way than gzip.</param>
public sealed record FoundMessages(
    IReadOnlyList<DetachedMessage> Messages, bool HasMore, long UnreadableCount)
{
    /// <summary>The most messages of one look-up.</summary>
    public const int MaxCount = 10_000;

    internal const string CountRange = "1 to 10,000";
}
