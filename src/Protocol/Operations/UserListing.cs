using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What may be seen of a user.</summary>
/// <param name="Name">As a topic's: see <see cref="NameRules"/>.</param>
/// <param name="IsDisabled">Whether the user may not log in.</param>
/// <param name="HasPassword">Whether the user can log in with one; tokens work without.</param>
/// <param name="Groups">Groups that rules may name, in ordinal order.</param>
public sealed record UserListing(string Name, bool IsDisabled, bool HasPassword, IReadOnlyList<string> Groups)
    : IPayload<UserListing>
{
    internal const int MinSize = 2 + 1 + 1 + 4;

    /// <inheritdoc/>
    public static UserListing Read(ref PayloadReader reader)
    {
        string name = reader.ReadString();
        bool isDisabled = reader.ReadBool();
        bool hasPassword = reader.ReadBool();
        return new UserListing(name, isDisabled, hasPassword, reader.ReadStrings());
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Name);
        writer.WriteBool(IsDisabled);
        writer.WriteBool(HasPassword);
        writer.WriteStrings(Groups);
    }
}
