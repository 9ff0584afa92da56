namespace EQueue.Client;

/// <summary>
/// A moment in the life of a broker's groups: the broker's epoch in the upper half, a counter over all of its groups in
/// the lower. Rises with every queue given and every change told, across restarts too, and is never reused.
/// </summary>
/// <param name="Value">0 or more; -1 stands for "no member's".</param>
public readonly record struct GroupGeneration(long Value) : IComparable<GroupGeneration>
{
    /// <summary>Of progress that no member committed.</summary>
    public static readonly GroupGeneration None = new(-1);

    /// <summary>Named by a member that joins.</summary>
    public static readonly GroupGeneration Join = new(0);

    /// <summary>The epoch of the broker that gave it; -1 of <see cref="None"/>.</summary>
    public int Epoch => (int)(Value >> 32);

    /// <summary>The first generation of a broker's epoch is the one after this.</summary>
    public static GroupGeneration BeginOf(int epoch) => new((long)epoch << 32);

    /// <inheritdoc/>
    public int CompareTo(GroupGeneration other) => Value.CompareTo(other.Value);

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator <(GroupGeneration left, GroupGeneration right) => left.Value < right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator >(GroupGeneration left, GroupGeneration right) => left.Value > right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator <=(GroupGeneration left, GroupGeneration right) => left.Value <= right.Value;

    /// <summary>Orders by <see cref="Value"/>.</summary>
    public static bool operator >=(GroupGeneration left, GroupGeneration right) => left.Value >= right.Value;

    /// <inheritdoc/>
    public override string ToString() => $"{Value >> 32}.{(uint)Value}";
}
