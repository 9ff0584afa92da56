using EQueue.Remoting;

namespace EQueue.Broker;

/// <content>Keeps to the memory for answers that were not taken: while it is spent answers are small, then they wait.
/// </content>
internal sealed partial class FetchHandler
{
    /// <summary>Entry bytes of an answer while the memory is spent.</summary>
    private const int SmallAnswerBytes = 64 << 10;

    /// <summary>Small answers go on until so much more than all of it is taken: one of so many parts.</summary>
    private const int SpareShare = 4;

    /// <summary>How long a request waits before it looks for memory again.</summary>
    private static readonly TimeSpan MemoryWait = TimeSpan.FromMilliseconds(100);

    /// <summary>Puts a request off whose reader has not taken what it was given, or for which there is nothing at all.
    /// </summary>
    /// <returns>True when the session is the wheel's now.</returns>
    private bool TryWaitForMemory(FetchSession session, SendBudget budget)
    {
        if (!budget.IsSpent || _isStopping)
            return false;
        bool isUntaken = session.Peer.Transport.QueuedBytes >= SendBudget.UnitBytes;
        if (!isUntaken && budget.UsedBytes < budget.MaxBytes + (budget.MaxBytes / SpareShare))
            return false;
        PutOff(session, MemoryWait);
        return true;
    }

    /// <summary>Entry bytes that an answer may carry now.</summary>
    private static int Grant(SendBudget budget, int wantedBytes) =>
        wantedBytes <= SmallAnswerBytes || budget.HasRoom(wantedBytes) ? wantedBytes : SmallAnswerBytes;

    /// <summary>A frame that counts what it grows by; without memory for a long one it begins short.</summary>
    private static FrameBuffer RentFrame(SendBudget budget, int bytes)
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
    private long ColdReadBytes(SendBudget budget) =>
        Math.Min(_limits.MaxMessageBytes + LimitOptions.BatchOverheadBytes, budget.MaxBytes / SpareShare);

    private void PutOff(FetchSession session, TimeSpan wait)
    {
        session.BeginHold();
        _holds.Add(session, wait);
        if (_isStopping)
            EndHold(session);
    }
}
