using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>What requests of all kinds keep to: names, texts, lists; and the answers to those that do not.</summary>
internal static class RequestRules
{
    /// <summary>The answer to a request that cannot be meant.</summary>
    public static EQueueException Invalid(string message) => new(ErrorCode.InvalidArgument, message);

    /// <summary>The answer to bytes that are no request.</summary>
    public static EQueueException Malformed(ReadOnlyMemory<byte> payload, Opcode opcode) =>
        new(ErrorCode.MalformedRequest, $"The {payload.Length} bytes are not a {opcode} request.");

    /// <exception cref="EQueueException">InvalidName.</exception>
    public static void CheckName(string name, string what)
    {
        if (!NameRules.IsValid(name))
        {
            throw new EQueueException(
                ErrorCode.InvalidName,
                $"The {what}'s name of {name.Length} characters is not 1 to {NameRules.MaxLength} of "
                + "A-Z a-z 0-9 . _ - or is '.' or '..'.");
        }
    }

    /// <summary>Checks a name that may be any text.</summary>
    /// <exception cref="EQueueException">InvalidArgument.</exception>
    public static void CheckText(string text, string what)
    {
        if (!NameRules.IsText(text))
            throw Invalid($"The {what} of {text.Length} characters has control characters in it.");
    }

    /// <summary>A request names a thing once: its answer is no longer than what it names.</summary>
    /// <exception cref="EQueueException">InvalidArgument: one is named twice.</exception>
    public static void CheckNamedOnce<T>(IReadOnlyList<T> named, string what)
        where T : IEquatable<T>
    {
        if (named.Count < 2)
            return;
        // It grows with what is not repeated: a long list of one thing takes nothing.
        var seen = new HashSet<T>();
        for (int i = 0; i < named.Count; i++)
        {
            if (!seen.Add(named[i]))
                throw Invalid($"{what} '{named[i]}' is named twice.");
        }
    }
}
