namespace EQueue.MessageStore;

/// <summary>Is told of all messages that a store lets go: who knows their readers can warn.</summary>
/// <remarks>Called on a thread of the store, one call at a time; must not throw.</remarks>
public interface IDeletionWatch
{
    /// <summary>These messages are about to go; they can still be read.</summary>
    void BeforeDeletion(IReadOnlyList<DeletedRange> ranges);

    /// <summary>They have gone.</summary>
    void AfterDeletion(IReadOnlyList<DeletedRange> ranges);
}
