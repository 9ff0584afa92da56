using EQueue.Cli.Input;

namespace EQueue.Cli.Access;

/// <summary>A name for rules that go together; a broker knows the rules alone.</summary>
internal sealed record Role
{
    private static readonly AccessResource[] Everything =
    [
        new(ResourceKind.Topic, ResourceText.Any), new(ResourceKind.Group, ResourceText.Any),
        new(ResourceKind.Broker, ""),
    ];

    /// <summary>All of them.</summary>
    /// <remarks>An operator sets no quotas, users, tokens and rules: who may set rules may do everything, so that is
    /// allowed by a rule of its own.</remarks>
    public static IReadOnlyList<Role> All { get; } =
    [
        new()
        {
            Name = "producer",
            Purpose = "sends to the topics, and makes them",
            Needed = [ResourceKind.Topic],
            OfTopic = [Permission.Write, Permission.Create],
        },
        new()
        {
            Name = "consumer",
            Purpose = "reads the topics as a member of the groups",
            Needed = [ResourceKind.Topic, ResourceKind.Group],
            OfTopic = [Permission.Read],
            OfGroup = [Permission.Read],
        },
        new()
        {
            Name = "viewer",
            Purpose = "sees what there is and how far it has got, and no message",
            OfTopic = [Permission.Describe],
            OfGroup = [Permission.Describe],
            OfBroker = [Permission.Describe],
        },
        new()
        {
            Name = "operator",
            Purpose = "makes, changes and removes topics and groups, and reads no message",
            OfTopic = [Permission.Describe, Permission.Create, Permission.Alter, Permission.Delete],
            OfGroup = [Permission.Describe, Permission.Alter, Permission.Delete],
            OfBroker = [Permission.Describe],
        },
    ];

    public required string Name { get; init; }

    /// <summary>What its principal does, for people.</summary>
    public required string Purpose { get; init; }

    /// <summary>What must be named; when nothing must, all is meant unless something is named.</summary>
    public IReadOnlyList<ResourceKind> Needed { get; init; } = [];

    private IReadOnlyList<Permission> OfTopic { get; init; } = [];

    private IReadOnlyList<Permission> OfGroup { get; init; } = [];

    private IReadOnlyList<Permission> OfBroker { get; init; } = [];

    /// <summary>The rules that give the role to a principal.</summary>
    /// <param name="principal">Whose.</param>
    /// <param name="resources">With what.</param>
    /// <exception cref="UsageException">The role is about something else, or something is missing.</exception>
    public IReadOnlyList<AccessRule> RulesFor(string principal, IReadOnlyList<AccessResource> resources)
    {
        string[] missing =
        [
            .. Needed.Where(kind => resources.All(one => one.Kind != kind))
                .Select(static kind => $"{ResourceText.Of(kind)}:NAME"),
        ];
        if (missing.Length > 0)
            throw new UsageException($"A {Name} needs {string.Join(" and ", missing)}.");
        var rules = new List<AccessRule>();
        foreach (AccessResource resource in resources.Count > 0 ? resources : Everything)
        {
            IReadOnlyList<Permission> permissions = Of(resource.Kind);
            if (permissions.Count == 0)
                throw new UsageException($"A {Name} has nothing to do with {resource}.");
            rules.AddRange(permissions.Select(permission => new AccessRule(
                RuleEffect.Allow, principal, permission, resource.Kind, resource.Name)));
        }

        return rules;
    }

    private IReadOnlyList<Permission> Of(ResourceKind kind) => kind switch
    {
        ResourceKind.Topic => OfTopic,
        ResourceKind.Group => OfGroup,
        _ => OfBroker,
    };
}
