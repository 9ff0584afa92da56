namespace EQueue.Protocol;

/// <summary>Asks for the history of the log, and whether places that were read in a history known before are places
/// of this one.</summary>
/// <param name="Known">The history in which the places were read; empty = none, no place is judged.</param>
/// <param name="Places">Queues, and in each the first message not read.</param>
/// <remarks>Errors: InvalidArgument (more than 1,000 epochs or 10,000 places).</remarks>
public sealed record CheckHistoryRequest(LogHistory Known, IReadOnlyList<HistoryPlace> Places)
    : IRequest<CheckHistoryRequest, CheckHistoryResponse>
{
    /// <summary>Places in a request, at most.</summary>
    public const int MaxPlaces = 10_000;

    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.CheckHistory;

    /// <inheritdoc/>
    public static CheckHistoryRequest Read(ref PayloadReader reader) =>
        new(LogHistory.Read(ref reader), reader.ReadList<HistoryPlace>(HistoryPlace.Size));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Known.Write(writer);
        writer.WriteList(Places);
    }
}

/// <summary>A queue and a place in it.</summary>
/// <param name="Queue">Which queue.</param>
/// <param name="Next">The first message not read.</param>
public readonly record struct HistoryPlace(QueueKey Queue, QueueOffset Next) : IPayload<HistoryPlace>
{
    internal const int Size = QueueKey.Size + 8;

    /// <inheritdoc/>
    public static HistoryPlace Read(ref PayloadReader reader) =>
        new(QueueKey.Read(ref reader), new QueueOffset(reader.ReadInt64()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Queue.Write(writer);
        writer.WriteInt64(Next.Value);
    }
}

/// <summary>The history of the log, and a judgement on each place.</summary>
/// <param name="History">Of the log as it is.</param>
/// <param name="Forks">In the order of the places: -1 = it is a place of this history (or the queue is gone); else
/// where the histories part in this queue: the messages from there up to the place are others now.</param>
public sealed record CheckHistoryResponse(LogHistory History, IReadOnlyList<QueueOffset> Forks)
    : IPayload<CheckHistoryResponse>
{
    /// <summary>What stands for a place that is one of this history.</summary>
    public static readonly QueueOffset Fits = new(-1);

    /// <inheritdoc/>
    public static CheckHistoryResponse Read(ref PayloadReader reader)
    {
        var history = LogHistory.Read(ref reader);
        var forks = new QueueOffset[reader.ReadCount(8)];
        for (int i = 0; i < forks.Length; i++)
            forks[i] = new QueueOffset(reader.ReadInt64());
        return new CheckHistoryResponse(history, forks);
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        History.Write(writer);
        writer.WriteCount(Forks.Count);
        foreach (QueueOffset fork in Forks)
            writer.WriteInt64(fork.Value);
    }
}
