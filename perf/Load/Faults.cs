namespace EQueue.Load;

/// <summary>
/// Faults that a run injects, one message each, to prove that the checker sees them: between the consumer and the
/// checker, or in the log's files.
/// </summary>
[Flags]
internal enum Faults
{
    None = 0,

    Missing = 1,

    Duplicate = 2,

    Reorder = 4,

    /// <summary>Not in front of the checker: the log's files lose their last batch before they are looked at.</summary>
    Short = 8,
}
