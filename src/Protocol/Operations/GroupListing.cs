using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>How the members of a group share queues.</summary>
public enum GroupKind : byte
{
    /// <summary>Each queue has one owner.</summary>
    Shared = 0,

    /// <summary>Each member reads everything.</summary>
    Broadcast = 1,
}

/// <summary>Where a group stands.</summary>
public enum GroupState : byte
{
    /// <summary>No members.</summary>
    Empty = 0,

    /// <summary>Waits, after a restart of the broker, for the members it had.</summary>
    Settling = 1,

    /// <summary>A queue is not yet where it shall be.</summary>
    Moving = 2,

    /// <summary>Every queue is with the member that shall have it.</summary>
    Stable = 3,
}

/// <summary>A group in a list.</summary>
public sealed record GroupListing(string Group, GroupKind Kind, GroupState State, uint MemberCount)
    : IPayload<GroupListing>
{
    internal const int MinSize = 2 + 1 + 1 + 4;

    /// <inheritdoc/>
    public static GroupListing Read(ref PayloadReader reader) =>
        new(reader.ReadString(), (GroupKind)reader.ReadByte(), (GroupState)reader.ReadByte(), reader.ReadUInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteByte((byte)Kind);
        writer.WriteByte((byte)State);
        writer.WriteUInt32(MemberCount);
    }
}
