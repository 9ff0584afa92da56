using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>The three ways in which Remoting carries a request.</summary>
internal enum CallMode
{
    /// <summary>No answer.</summary>
    Oneway,

    /// <summary>Answers are awaited in order, many outstanding.</summary>
    Async,

    /// <summary>One at a time, on a thread that blocks.</summary>
    Sync,
}

/// <summary>One stretch of calls: by time, or by count when <see cref="Calls"/> is set.</summary>
/// <param name="Calls">Of this client.</param>
internal sealed record CallOrder(int Port, CallMode Mode, int Size, int InFlight, double Seconds, long? Calls = null);

/// <summary>What a client called in a stretch, and since its start.</summary>
/// <param name="WrongAnswers">Answers that belong to another request.</param>
internal sealed record CallResult(
    long Calls,
    long CallsInAll,
    long WrongAnswers,
    long FirstSentNs,
    long LastDoneNs,
    LatencyCounts Latency,
    ProcessFigures Start,
    ProcessFigures End);

/// <summary>Waits until so many requests have come since the start.</summary>
internal sealed record CountOrder(long Total);

/// <summary>What the server got since its start.</summary>
/// <param name="Misplaced">Requests that did not follow the one before them on their connection.</param>
/// <param name="LastReceivedNs">When the last one came.</param>
internal sealed record CountResult(long Received, long Misplaced, long LastReceivedNs, ProcessFigures Figures);
