using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Whether a rule lets its principal do something or keeps it from that.</summary>
public enum RuleEffect : byte
{
    /// <summary>Permits it, unless a rule denies it.</summary>
    Allow = 1,

    /// <summary>Forbids it, whatever others allow.</summary>
    Deny = 2,
}

/// <summary>What a principal may do with a resource; docs/security.md says what each covers.</summary>
public enum Permission : byte
{
    /// <summary>Each of the others.</summary>
    All = 1,

    /// <summary>See it: settings, offsets, members, figures; be shown it in lists.</summary>
    Describe = 2,

    /// <summary>Fetch a topic's messages; be a member of a group and commit its progress.</summary>
    Read = 3,

    /// <summary>Send to a topic.</summary>
    Write = 4,

    /// <summary>Make a topic.</summary>
    Create = 5,

    /// <summary>Change a topic's settings and queues; reset a group.</summary>
    Alter = 6,

    /// <summary>Remove a topic or a group.</summary>
    Delete = 7,

    /// <summary>Set quotas, users, tokens and rules.</summary>
    Administer = 8,
}

/// <summary>What a rule is about.</summary>
public enum ResourceKind : byte
{
    /// <summary>The broker itself; it has no name.</summary>
    Broker = 1,

    /// <summary>A topic.</summary>
    Topic = 2,

    /// <summary>A consumer group.</summary>
    Group = 3,
}

/// <summary>A permission, given or denied.</summary>
/// <param name="Effect">Which of the two.</param>
/// <param name="Principal">Whose, as in "user:alice", "cert:orders.example", "local:1000", "group:billing"; "*" =
/// everybody.</param>
/// <param name="Permission">To do what.</param>
/// <param name="Resource">With what kind of thing.</param>
/// <param name="Name">Of which name; the beginning of it and a "*", "*" alone for all; "" for the broker.</param>
public sealed record AccessRule(
    RuleEffect Effect, string Principal, Permission Permission, ResourceKind Resource, string Name)
    : IPayload<AccessRule>
{
    /// <summary>The principal of a rule that is about everybody.</summary>
    public const string Everybody = "*";

    /// <summary>Most characters of a principal.</summary>
    public const int MaxPrincipalLength = 255;

    internal const int MinSize = 3 + (2 * 2);

    /// <inheritdoc/>
    public static AccessRule Read(ref PayloadReader reader) => new(
        (RuleEffect)reader.ReadByte(),
        reader.ReadString(),
        (Permission)reader.ReadByte(),
        (ResourceKind)reader.ReadByte(),
        reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteByte((byte)Effect);
        writer.WriteString(Principal);
        writer.WriteByte((byte)Permission);
        writer.WriteByte((byte)Resource);
        writer.WriteString(Name);
    }

    /// <summary>As people write it: "allow user:alice write topic:orders*".</summary>
    public override string ToString() => $"{Effect.ToString().ToLowerInvariant()} {Principal} "
        + $"{Permission.ToString().ToLowerInvariant()} {TextOf(Resource, Name)}";

    /// <summary>A resource as people write it: "topic:orders*", "broker".</summary>
    public static string TextOf(ResourceKind resource, string name)
    {
        string kind = resource.ToString().ToLowerInvariant();
        return resource == ResourceKind.Broker ? kind : $"{kind}:{name}";
    }
}
