using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A request names a thing once: its answer is no longer than what it names.</summary>
internal static class RepeatRules
{
    /// <exception cref="EQueueException">InvalidArgument: one is named twice.</exception>
    public static void Check<T>(IReadOnlyList<T> named, string what)
        where T : IEquatable<T>
    {
        if (named.Count < 2)
            return;
        // It grows with what is not repeated: a long list of one thing takes nothing.
        var seen = new HashSet<T>();
        for (int i = 0; i < named.Count; i++)
        {
            if (!seen.Add(named[i]))
                throw TopicRules.Invalid($"{what} '{named[i]}' is named twice.");
        }
    }
}
