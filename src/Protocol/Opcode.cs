namespace EQueue.Protocol;

/// <summary>The operations of a broker. Numbers are on the wire: never changed, never reused.</summary>
/// <remarks>Opcode 0 is remoting's own keep-alive. Each operation has a file of its own under
/// <c>Operations</c>.</remarks>
public enum Opcode : byte
{
    /// <summary>Opens a connection: versions, limits, who is who.</summary>
    Hello = 1,

    /// <summary>Makes a topic.</summary>
    CreateTopic = 10,

    /// <summary>Changes a topic's settings or adds queues.</summary>
    AlterTopic = 11,

    /// <summary>Removes a topic and its messages.</summary>
    DeleteTopic = 12,

    /// <summary>Names the topics.</summary>
    ListTopics = 13,

    /// <summary>Tells a topic's settings and queues.</summary>
    DescribeTopic = 14,

    /// <summary>Tells which broker holds which queue of a topic.</summary>
    Route = 20,

    /// <summary>Tells which node leads a cluster, waiting for a change if asked to.</summary>
    WatchLeader = 21,

    /// <summary>Gives a producer its id, or fences its older self.</summary>
    InitProducer = 30,

    /// <summary>Stores batches.</summary>
    Produce = 31,

    /// <summary>Reads entries of many queues, waiting for them if asked to.</summary>
    Fetch = 40,

    /// <summary>Tells offsets: begin, end, by time.</summary>
    FindOffsets = 41,

    /// <summary>Finds the messages of a queue that have a key.</summary>
    FindByKey = 42,

    /// <summary>Tells the history of the log, and whether places read in another one are places of it.</summary>
    CheckHistory = 43,

    /// <summary>Says which queues of a topic may be written and read.</summary>
    AlterQueues = 46,

    /// <summary>Stores a group's progress.</summary>
    CommitOffsets = 50,

    /// <summary>Reads a group's progress.</summary>
    ReadOffsets = 51,

    /// <summary>Joins a group, stays in it, learns its queues.</summary>
    GroupHeartbeat = 52,

    /// <summary>Leaves a group at once.</summary>
    GroupLeave = 53,

    /// <summary>Names the groups.</summary>
    ListGroups = 54,

    /// <summary>Tells a group's members, queues and lag.</summary>
    DescribeGroup = 55,

    /// <summary>Sets where a group without members continues.</summary>
    ResetOffsets = 56,

    /// <summary>Removes a group without members, or its progress in a topic.</summary>
    DeleteGroup = 57,

    /// <summary>Tells the broker's own figures.</summary>
    Stats = 60,

    /// <summary>Sets how fast a client or a topic may go.</summary>
    SetQuota = 61,

    /// <summary>Names the quotas.</summary>
    ListQuotas = 62,

    /// <summary>Makes a user, or changes one.</summary>
    SetUser = 70,

    /// <summary>Removes a user and its tokens.</summary>
    DeleteUser = 71,

    /// <summary>Names the users.</summary>
    ListUsers = 72,

    /// <summary>Makes a token of a user.</summary>
    CreateToken = 73,

    /// <summary>Ends a token.</summary>
    RevokeToken = 74,

    /// <summary>Names the tokens.</summary>
    ListTokens = 75,

    /// <summary>Adds a rule that allows or denies something, or removes it.</summary>
    SetRule = 76,

    /// <summary>Names the rules.</summary>
    ListRules = 77,

    /// <summary>Tells what the rules decide.</summary>
    TestRule = 78,
}

/// <summary>What is known of each operation.</summary>
public static class Operations
{
    /// <summary>Whether an operation only tells something, so that it can be asked again when the connection was lost
    /// before the answer came. A route that makes missing topics makes them once, however often it is
    /// asked.</summary>
    public static bool IsQuestion(this Opcode opcode) => opcode
        is Opcode.ListTopics or Opcode.DescribeTopic or Opcode.Route
        or Opcode.FindOffsets or Opcode.FindByKey
        or Opcode.ReadOffsets or Opcode.ListGroups or Opcode.DescribeGroup
        or Opcode.Stats or Opcode.ListQuotas
        or Opcode.ListUsers or Opcode.ListTokens or Opcode.ListRules or Opcode.TestRule;
}

/// <summary>The versions of each operation that this build speaks.</summary>
public static class OperationVersions
{
    /// <summary>The version of <see cref="Opcode.Fetch"/> and <see cref="Opcode.CommitOffsets"/> whose body begins
    /// with the opening (<see cref="HistoryMark"/>) that the places in it are of.</summary>
    public const byte Marked = 1;

    /// <summary>The version of <see cref="Opcode.Hello"/> whose answer is an
    /// <see cref="AuthenticatedHello"/>.</summary>
    public const byte Authenticated = 1;

    /// <summary>Every operation of a broker with the lowest and highest version known. Without
    /// <see cref="Opcode.WatchLeader"/>: <see cref="HelloFeatures.Cluster"/> says who serves that.</summary>
    public static readonly IReadOnlyList<OperationVersion> All =
    [
        .. Enum.GetValues<Opcode>()
            .Where(static opcode => opcode != Opcode.WatchLeader)
            .Select(static opcode => new OperationVersion(opcode, 0, Highest(opcode))),
    ];

    /// <summary>The highest version of an operation that this build speaks; it speaks all below as well.</summary>
    public static byte Highest(Opcode opcode) => opcode switch
    {
        Opcode.Fetch or Opcode.CommitOffsets => Marked,
        Opcode.Hello => Authenticated,
        _ => 0,
    };
}

/// <summary>An operation and the range of its versions that a side speaks.</summary>
public readonly record struct OperationVersion(Opcode Opcode, byte Min, byte Max) : IPayload<OperationVersion>
{
    /// <inheritdoc/>
    public static OperationVersion Read(ref PayloadReader reader) =>
        new((Opcode)reader.ReadByte(), reader.ReadByte(), reader.ReadByte());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteByte((byte)Opcode);
        writer.WriteByte(Min);
        writer.WriteByte(Max);
    }
}
