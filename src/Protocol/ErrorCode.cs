using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// Every outcome that a broker or a client can name. Numbers are on the wire: never changed, never reused.
/// </summary>
/// <remarks>Texts and whether a retry can help: <see cref="ErrorCodes"/>.</remarks>
public enum ErrorCode : ushort
{
    /// <summary>Done.</summary>
    None = 0,

    /// <summary>The broker failed in a way it has no name for; its log says more.</summary>
    InternalError = 1,

    /// <summary>The frame or its body does not follow the protocol.</summary>
    MalformedRequest = 2,

    /// <summary>No such operation.</summary>
    UnknownOperation = 3,

    /// <summary>The operation is known, its version is not.</summary>
    UnsupportedVersion = 4,

    /// <summary>The first frame of a connection must be Hello.</summary>
    HelloRequired = 5,

    /// <summary>The frame is longer than the limit announced in Hello.</summary>
    FrameTooLarge = 6,

    /// <summary>The credentials were refused.</summary>
    AuthenticationFailed = 7,

    /// <summary>The caller may not do this.</summary>
    NotAuthorized = 8,

    /// <summary>A value of the request is outside its allowed range.</summary>
    InvalidArgument = 9,

    /// <summary>The broker is at its limit of connections, memory or requests.</summary>
    LimitReached = 10,

    /// <summary>The broker is stopping.</summary>
    ShuttingDown = 11,

    /// <summary>The deadline passed; whether the request took effect is unknown.</summary>
    Timeout = 12,

    /// <summary>The connection was lost before the answer came.</summary>
    ConnectionLost = 13,

    /// <summary>No connection to the broker could be made.</summary>
    Unreachable = 14,

    /// <summary>The caller gave up.</summary>
    Cancelled = 15,

    /// <summary>The client was disposed.</summary>
    Disposed = 16,

    /// <summary>What listens at the address is no broker, or another port of it.</summary>
    NotABroker = 17,

    /// <summary>The broker serves those alone who prove who they are, and the peer did not.</summary>
    Unauthenticated = 18,

    /// <summary>The topic does not exist.</summary>
    UnknownTopic = 30,

    /// <summary>A topic of that name exists.</summary>
    TopicExists = 31,

    /// <summary>The name is not made of 1 to 249 characters of A-Z a-z 0-9 . _ - or is "." or "..".</summary>
    InvalidName = 32,

    /// <summary>The queue does not exist on this broker.</summary>
    UnknownQueue = 33,

    /// <summary>The queue takes no messages now.</summary>
    QueueNotWritable = 34,

    /// <summary>The queue may not be read now.</summary>
    QueueNotReadable = 35,

    /// <summary>The topic or queue limit of the broker is reached.</summary>
    TooManyQueues = 36,

    /// <summary>The message or batch is larger than the limit.</summary>
    MessageTooLarge = 50,

    /// <summary>The batch's CRC-32C does not match its bytes.</summary>
    CorruptBatch = 51,

    /// <summary>The batch's header breaks a rule of the format.</summary>
    InvalidBatch = 52,

    /// <summary>The batch was stored before; the answer carries its first place. A success.</summary>
    DuplicateSequence = 53,

    /// <summary>A batch before this one is missing.</summary>
    OutOfOrderSequence = 54,

    /// <summary>A newer epoch of this producer exists.</summary>
    ProducerFenced = 55,

    /// <summary>The broker does not know the producer id (any more).</summary>
    UnknownProducer = 56,

    /// <summary>The topic is at the bound of its backlog and lets no sender wait.</summary>
    QueueFull = 57,

    /// <summary>The disk is full; the broker is read-only until there is room.</summary>
    StorageFull = 58,

    /// <summary>The store met a fault and refuses appends; the broker must be restarted.</summary>
    StoreFaulted = 59,

    /// <summary>Too much sent in too short a time.</summary>
    Throttled = 60,

    /// <summary>The batch is compressed in a way that this reader cannot undo.</summary>
    UnsupportedCodec = 61,

    /// <summary>The batch is larger than the topic's backlog may be: send smaller ones.</summary>
    BatchExceedsBacklog = 62,

    /// <summary>The offset is before the queue's start or beyond its end.</summary>
    OffsetOutOfRange = 70,

    /// <summary>The bytes at that offset are damaged on disk.</summary>
    DamagedData = 71,

    /// <summary>The fetch session is not known here; start a new one.</summary>
    UnknownFetchSession = 72,

    /// <summary>The reader's epoch does not fit the log.</summary>
    DivergingEpoch = 73,

    /// <summary>The group has live members, or waits for those it had before a restart.</summary>
    GroupBusy = 90,

    /// <summary>The member is not (or no longer) part of the group.</summary>
    UnknownMember = 91,

    /// <summary>The generation of the member's call is over.</summary>
    FencedGeneration = 92,

    /// <summary>The group does not exist.</summary>
    UnknownGroup = 93,

    /// <summary>The queue belongs to another member of the group.</summary>
    QueueNotOwned = 94,

    /// <summary>The group has committed further.</summary>
    OffsetBehind = 95,

    /// <summary>Members of one group ask for different tags of a topic.</summary>
    TagsDiffer = 96,

    /// <summary>Shared and broadcast members in one group.</summary>
    GroupKindDiffers = 97,

    /// <summary>Another process joined under the member's instance id.</summary>
    MemberReplaced = 98,

    /// <summary>This node of a cluster does not lead, or leads no longer; whether the request took effect is
    /// unknown.</summary>
    NotLeader = 110,
}
