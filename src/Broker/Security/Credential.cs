namespace EQueue.Broker;

/// <summary>Why a connection was admitted: what has to hold for it to stay.</summary>
/// <param name="Principal">Who it is.</param>
/// <param name="User">The user whose password or token it showed, or for whom its certificate stands; null =
/// none.</param>
/// <param name="StoredKey">Of the password that it proved.</param>
/// <param name="TokenId">Of the token that it showed.</param>
/// <param name="IsByRule">Whether it was admitted because a rule names it.</param>
/// <param name="Address">From where it asks, if this process carries its requests; null = from the connection's other
/// end.</param>
internal sealed record Credential(
    string Principal,
    string? User = null,
    ReadOnlyMemory<byte>? StoredKey = null,
    string? TokenId = null,
    bool IsByRule = false,
    string? Address = null)
{
    /// <summary>Whether it can end while the peer is there.</summary>
    public bool CanEnd => User is not null || IsByRule;

    /// <summary>Whether it holds now.</summary>
    public bool Holds(SecurityBook book, long nowMs)
    {
        if (IsByRule)
            return book.Names(Principal);
        if (User is null)
            return true;
        if (!book.Users.TryGetValue(User, out UserRecord? user) || user.IsDisabled)
            return false;
        if (TokenId is not null)
        {
            return book.Tokens.TryGetValue(TokenId, out TokenRecord? token)
                && token.User == User && !token.IsExpired(nowMs);
        }

        return StoredKey is not { } key || (user.Secret is { } secret && secret.StoredKey.Span.SequenceEqual(key.Span));
    }
}
