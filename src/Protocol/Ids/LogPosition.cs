namespace EQueue.Protocol;

/// <summary>
/// An address in a commit log: counts bytes from the log's begin, segment headers not included, and never changes.
/// </summary>
/// <param name="Value">0 or more.</param>
public readonly record struct LogPosition(long Value) : IComparable<LogPosition>
{
    /// <inheritdoc/>
    public int CompareTo(LogPosition other) => Value.CompareTo(other.Value);

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator <(LogPosition left, LogPosition right) => left.Value < right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator >(LogPosition left, LogPosition right) => left.Value > right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator <=(LogPosition left, LogPosition right) => left.Value <= right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator >=(LogPosition left, LogPosition right) => left.Value >= right.Value;

    /// <inheritdoc/>
    public override string ToString() => Value.ToString();
}
