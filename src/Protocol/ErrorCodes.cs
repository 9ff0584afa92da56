namespace EQueue.Protocol;

/// <summary>
/// What each <see cref="ErrorCode"/> says to people and whether sending the same request again can succeed.
/// </summary>
public static class ErrorCodes
{
    /// <summary>One sentence for people, without a full stop.</summary>
    public static string Describe(ErrorCode code) => code switch
    {
        ErrorCode.None => "Done",
        ErrorCode.InternalError => "The broker failed; its log says why",
        ErrorCode.MalformedRequest => "The request does not follow the protocol",
        ErrorCode.UnknownOperation => "The broker does not know this operation",
        ErrorCode.UnsupportedVersion => "The broker does not know this version of the operation",
        ErrorCode.HelloRequired => "The first request of a connection must be Hello",
        ErrorCode.FrameTooLarge => "The request is longer than the limit",
        ErrorCode.AuthenticationFailed => "The credentials were refused",
        ErrorCode.NotAuthorized => "The caller may not do this",
        ErrorCode.InvalidArgument => "A value of the request is outside its range",
        ErrorCode.LimitReached => "The broker is at its limit",
        ErrorCode.ShuttingDown => "The broker is stopping",
        ErrorCode.Timeout => "The deadline passed before the answer came",
        ErrorCode.ConnectionLost => "The connection was lost before the answer came",
        ErrorCode.Unreachable => "The broker cannot be reached",
        ErrorCode.Cancelled => "The caller gave up",
        ErrorCode.Disposed => "The client was disposed",
        ErrorCode.NotABroker => "What listens at the address is no broker",
        ErrorCode.Unauthenticated => "The broker serves those alone who prove who they are",
        ErrorCode.UnknownTopic => "The topic does not exist",
        ErrorCode.TopicExists => "A topic of that name exists",
        ErrorCode.InvalidName => "A name is 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..",
        ErrorCode.UnknownQueue => "The queue does not exist on this broker",
        ErrorCode.QueueNotWritable => "The queue takes no messages now",
        ErrorCode.QueueNotReadable => "The queue may not be read now",
        ErrorCode.TooManyQueues => "The broker's limit of topics or queues is reached",
        ErrorCode.MessageTooLarge => "The message is larger than the limit",
        ErrorCode.CorruptBatch => "The batch's checksum does not match its bytes",
        ErrorCode.InvalidBatch => "The batch breaks a rule of the format",
        ErrorCode.DuplicateSequence => "The batch was stored before",
        ErrorCode.OutOfOrderSequence => "A batch before this one is missing",
        ErrorCode.ProducerFenced => "A newer producer with this id exists",
        ErrorCode.UnknownProducer => "The broker does not know this producer id",
        ErrorCode.QueueFull => "The topic is at the bound of its backlog",
        ErrorCode.StorageFull => "The broker's disk is full",
        ErrorCode.StoreFaulted => "The broker's store met a fault and takes no messages",
        ErrorCode.Throttled => "Too much was sent in too short a time",
        ErrorCode.UnsupportedCodec => "The batch's compression is not supported",
        ErrorCode.BatchExceedsBacklog => "The batch is larger than the topic's backlog may be",
        ErrorCode.OffsetOutOfRange => "The queue has no such offset",
        ErrorCode.DamagedData => "The bytes at that offset are damaged",
        ErrorCode.UnknownFetchSession => "The fetch session is not known",
        ErrorCode.DivergingEpoch => "The reader's epoch does not fit the log",
        ErrorCode.GroupBusy => "The group has live members",
        ErrorCode.UnknownMember => "The member is not part of the group",
        ErrorCode.FencedGeneration => "The member's generation is over",
        ErrorCode.UnknownGroup => "The group does not exist",
        ErrorCode.QueueNotOwned => "The queue belongs to another member of the group",
        ErrorCode.OffsetBehind => "The group has committed further",
        ErrorCode.TagsDiffer => "Members of the group ask for different tags of a topic",
        ErrorCode.GroupKindDiffers => "The group is of the other kind: shared or broadcast",
        ErrorCode.MemberReplaced => "Another process joined under the member's instance id",
        ErrorCode.NotLeader => "This node of the cluster does not lead",
        _ => $"Error {(int)code}",
    };

    /// <summary>Whether the same request, sent again later, can succeed without anybody changing it.</summary>
    public static bool IsRetriable(ErrorCode code) => code
        is ErrorCode.LimitReached
        or ErrorCode.ShuttingDown
        or ErrorCode.Timeout
        or ErrorCode.ConnectionLost
        or ErrorCode.Unreachable
        or ErrorCode.QueueNotWritable
        or ErrorCode.QueueNotReadable
        or ErrorCode.QueueFull
        or ErrorCode.StorageFull
        or ErrorCode.StoreFaulted
        or ErrorCode.Throttled
        or ErrorCode.UnknownFetchSession
        or ErrorCode.GroupBusy
        or ErrorCode.NotLeader;
}
