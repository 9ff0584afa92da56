namespace EQueue.Client;

/// <summary>The place of a message in its queue: counts messages, the first is 0.</summary>
/// <param name="Value">0 or more; <c>-1</c> stands for "none".</param>
public readonly record struct QueueOffset(long Value) : IComparable<QueueOffset>
{
    /// <inheritdoc/>
    public int CompareTo(QueueOffset other) => Value.CompareTo(other.Value);

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator <(QueueOffset left, QueueOffset right) => left.Value < right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator >(QueueOffset left, QueueOffset right) => left.Value > right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator <=(QueueOffset left, QueueOffset right) => left.Value <= right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator >=(QueueOffset left, QueueOffset right) => left.Value >= right.Value;

    /// <inheritdoc/>
    public override string ToString() => Value.ToString();
}
