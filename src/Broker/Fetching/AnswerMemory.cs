using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>How answers keep to the memory for those that were not taken yet: while it is spent they are small, then
/// they wait.</summary>
internal static class AnswerMemory
{
    /// <summary>Entry bytes of an answer while the memory is spent.</summary>
    public const int SmallAnswerBytes = 64 << 10;

    /// <summary>A frame is rented with at least so much.</summary>
    public const int SmallestBuffer = 4 << 10;
    public const int FrameMargin = 4 << 10;

    /// <summary>How long a request waits before it looks for memory again.</summary>
    public static readonly TimeSpan Wait = TimeSpan.FromMilliseconds(100);

    /// <summary>Small answers go on until so much more than all of it is taken: one of so many parts.</summary>
    private const int SpareShare = 4;

    /// <summary>Whether a request must wait whose reader has not taken what it was given, or for which there is nothing
    /// at all.</summary>
    public static bool IsLacking(BrokerConnection peer, SendBudget budget)
    {
        if (!budget.IsSpent)
            return false;
        bool isUntaken = peer.Transport.QueuedBytes >= SendBudget.UnitBytes;
        return isUntaken || budget.UsedBytes >= budget.MaxBytes + (budget.MaxBytes / SpareShare);
    }

    /// <summary>Entry bytes that an answer may carry now.</summary>
    public static int Grant(SendBudget budget, int wantedBytes) =>
        wantedBytes <= SmallAnswerBytes || budget.HasRoom(wantedBytes) ? wantedBytes : SmallAnswerBytes;

    /// <summary>A frame that counts what it grows by; without memory for a long one it begins short.</summary>
    public static FrameBuffer RentFrame(SendBudget budget, int bytes)
    {
        var frame = FrameBuffer.Rent(budget.HasRoom(bytes) ? bytes : SmallestBuffer);
        frame.Bound(int.MaxValue, budget);
        if (frame.TryTake(bytes))
            return frame;
        frame.Dispose();
        frame = FrameBuffer.Rent(SmallestBuffer);
        frame.Bound(int.MaxValue, budget);
        return frame;
    }

    /// <summary>What is taken for a read from disk, until it is known what came.</summary>
    public static long ColdReadBytes(SendBudget budget, LimitOptions limits) =>
        Math.Min(limits.MaxMessageBytes + LimitOptions.BatchOverheadBytes, budget.MaxBytes / SpareShare);
}
