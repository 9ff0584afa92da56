namespace EQueue.Load;

/// <summary>A defect planted between the consumer and the checker, to prove that the checker sees it.</summary>
internal enum Plant
{
    None,
    Missing,
    Duplicate,
    Reorder,
}
