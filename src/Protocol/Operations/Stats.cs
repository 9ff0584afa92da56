namespace EQueue.Protocol;

/// <summary>Asks for the broker's own figures.</summary>
public sealed record StatsRequest : IRequest<StatsRequest, StatsResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.Stats;

    /// <inheritdoc/>
    public static StatsRequest Read(ref PayloadReader reader) => new();

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
    }
}

/// <summary>Named figures. New names may come; a reader passes over those it does not know.</summary>
public sealed record StatsResponse(IReadOnlyList<StatsFigure> Figures) : IPayload<StatsResponse>
{
    /// <inheritdoc/>
    public static StatsResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<StatsFigure>(StatsFigure.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteList(Figures);

    /// <summary>The figure called <paramref name="name"/>, or null.</summary>
    public long? Find(string name)
    {
        foreach (StatsFigure figure in Figures)
        {
            if (figure.Name == name)
                return figure.Value;
        }

        return null;
    }
}

/// <summary>A figure.</summary>
/// <param name="Name">Room, dot, what it counts, unit last: <c>store.bytesWritten</c>,
/// <c>process.cpuMicroseconds</c>.</param>
/// <param name="Value">A count since the start, or a level now.</param>
public readonly record struct StatsFigure(string Name, long Value) : IPayload<StatsFigure>
{
    internal const int MinSize = 2 + 8;

    /// <inheritdoc/>
    public static StatsFigure Read(ref PayloadReader reader) => new(reader.ReadString(), reader.ReadInt64());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Name);
        writer.WriteInt64(Value);
    }
}
