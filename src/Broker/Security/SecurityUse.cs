namespace EQueue.Broker;

/// <summary>What users, tokens and rules take in memory: estimates, rounded up. Each is there twice, in the log's state
/// and in the book that decides.</summary>
internal static class SecurityUse
{
    /// <summary>A string without its characters.</summary>
    private const int StringBytes = 24;

    /// <summary>A user twice, with its places in both tables and its password.</summary>
    private const int UserBytes = 1_000;

    /// <summary>A token twice, with its places in both tables.</summary>
    private const int TokenBytes = 600;

    /// <summary>A rule twice, with its places in the tables and among those of its principal.</summary>
    private const int RuleBytes = 900;

    /// <summary>0 for none.</summary>
    public static long SizeOf(UserRecord? user) => user is null
        ? 0
        : UserBytes + (2 * (SizeOf(user.Name) + user.Groups.Sum(SizeOf)));

    /// <inheritdoc cref="SizeOf(UserRecord)"/>
    public static long SizeOf(TokenRecord? token) => token is null
        ? 0
        : TokenBytes + (2 * (SizeOf(token.Id) + SizeOf(token.User) + SizeOf(token.Note)));

    /// <summary>A rule, and the text by which it is found.</summary>
    public static long SizeOf(AccessRule rule) =>
        RuleBytes + (3 * (SizeOf(rule.Principal) + SizeOf(rule.Name)));

    private static long SizeOf(string text) => StringBytes + (2L * text.Length);
}
