namespace EQueue.Server.Http;

/// <summary>Which HTTP status stands for which error code; docs/admin-http.md has the table.</summary>
internal static class ProblemStatus
{
    public static int Of(ErrorCode code) => code switch
    {
        ErrorCode.InvalidArgument or ErrorCode.InvalidName or ErrorCode.MalformedRequest or ErrorCode.InvalidBatch
            or ErrorCode.CorruptBatch => StatusCodes.Status400BadRequest,
        ErrorCode.AuthenticationFailed or ErrorCode.Unauthenticated => StatusCodes.Status401Unauthorized,
        ErrorCode.NotAuthorized => StatusCodes.Status403Forbidden,
        ErrorCode.UnknownTopic or ErrorCode.UnknownQueue or ErrorCode.UnknownGroup or ErrorCode.UnknownMember
            or ErrorCode.UnknownProducer => StatusCodes.Status404NotFound,
        ErrorCode.TopicExists or ErrorCode.TooManyQueues or ErrorCode.QueueNotWritable or ErrorCode.QueueNotReadable
            or ErrorCode.GroupBusy or ErrorCode.GroupKindDiffers or ErrorCode.TagsDiffer or ErrorCode.QueueNotOwned
            or ErrorCode.FencedGeneration or ErrorCode.OffsetBehind or ErrorCode.MemberReplaced
            or ErrorCode.DuplicateSequence or ErrorCode.OutOfOrderSequence or ErrorCode.ProducerFenced
            or ErrorCode.DivergingEpoch or ErrorCode.UnknownFetchSession => StatusCodes.Status409Conflict,
        ErrorCode.MessageTooLarge or ErrorCode.FrameTooLarge or ErrorCode.BatchExceedsBacklog
            => StatusCodes.Status413PayloadTooLarge,
        ErrorCode.OffsetOutOfRange => StatusCodes.Status416RangeNotSatisfiable,
        ErrorCode.LimitReached or ErrorCode.QueueFull or ErrorCode.Throttled => StatusCodes.Status429TooManyRequests,
        ErrorCode.UnknownOperation or ErrorCode.UnsupportedVersion => StatusCodes.Status501NotImplemented,
        ErrorCode.ShuttingDown or ErrorCode.StoreFaulted or ErrorCode.ConnectionLost or ErrorCode.Unreachable
            or ErrorCode.NotLeader
            or ErrorCode.Disposed or ErrorCode.NotABroker => StatusCodes.Status503ServiceUnavailable,
        ErrorCode.Timeout => StatusCodes.Status504GatewayTimeout,
        ErrorCode.StorageFull => StatusCodes.Status507InsufficientStorage,
        _ => StatusCodes.Status500InternalServerError,
    };
}
