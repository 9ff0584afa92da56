using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Which tags a message may get.</summary>
internal static class TagRules
{
    /// <summary>Checks a tag; null is none.</summary>
    /// <exception cref="EQueueException">InvalidArgument.</exception>
    public static void Check(string? tag)
    {
        if (tag is not null && !NameRules.IsText(tag))
            throw new EQueueException(ErrorCode.InvalidArgument, "A tag has no control characters.");
    }
}
