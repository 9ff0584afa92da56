namespace EQueue.Replication;

/// <summary>One life of a process: 16 random bytes for each start. Lives are compared for equality, never
/// ordered.</summary>
/// <param name="Value">Random; all zero means no life.</param>
public readonly record struct Life(UInt128 Value)
{
    /// <summary>Whether this is no life at all.</summary>
    public bool IsNone => Value == 0;
}
