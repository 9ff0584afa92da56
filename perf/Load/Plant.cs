namespace EQueue.Load;

/// <summary>
/// Defects planted between the consumer and the checker, one message each, to prove that the checker sees them.
/// </summary>
[Flags]
internal enum Plant
{
    None = 0,

    Missing = 1,

    Duplicate = 2,

    Reorder = 4,

    /// <summary>Not in front of the checker: the log's files lose their last batch before they are looked at.</summary>
    Short = 8,
}
