namespace EQueue.Client;

/// <summary>A token that was made: the broker cannot tell it again.</summary>
/// <param name="Id">Its public half.</param>
/// <param name="Token">The whole, to be kept secret.</param>
public sealed record CreatedToken(string Id, string Token)
{
    /// <summary>Its public half alone.</summary>
    public override string ToString() => $"token {Id}";
}
