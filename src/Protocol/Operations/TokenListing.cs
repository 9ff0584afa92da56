using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What may be seen of a token.</summary>
/// <param name="Id">Its public half, 8 characters.</param>
/// <param name="User">Whose it is.</param>
/// <param name="CreatedMs">When it was made, Unix milliseconds.</param>
/// <param name="ExpiresMs">When it ends, Unix milliseconds; 0 = never.</param>
/// <param name="Note">What its maker wrote about it.</param>
public sealed record TokenListing(string Id, string User, long CreatedMs, long ExpiresMs, string Note)
    : IPayload<TokenListing>
{
    internal const int MinSize = 2 + 2 + 8 + 8 + 2;

    /// <inheritdoc/>
    public static TokenListing Read(ref PayloadReader reader) => new(
        reader.ReadString(), reader.ReadString(), reader.ReadInt64(), reader.ReadInt64(), reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Id);
        writer.WriteString(User);
        writer.WriteInt64(CreatedMs);
        writer.WriteInt64(ExpiresMs);
        writer.WriteString(Note);
    }
}
