using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>
/// Turns the exception of an operation into its answer; what has no code of its own is logged here, once.
/// </summary>
internal sealed class FailureAnswers(BrokerCounters counters, ILogger logger)
{
    /// <summary>The code of an exception's answer.</summary>
    public static ErrorCode CodeOf(Exception exception) => exception switch
    {
        EQueueException known => known.Code,
        DiskException { Fault: DiskFault.Shortage } => ErrorCode.LimitReached,
        DiskException => ErrorCode.StoreFaulted,
        _ => ErrorCode.InternalError,
    };

    public void Answer(BrokerConnection peer, in FrameHeader header, Exception exception)
    {
        Interlocked.Increment(ref counters.RefusedRequests);
        var operation = (Opcode)header.Opcode;
        ErrorCode code = CodeOf(exception);
        switch (exception)
        {
            case EQueueException known:
                logger.RequestRefused(operation, peer.Id, code, known.Message);
                peer.Refuse(header, code, known.Message, known.RetryAfter);
                break;
            case DiskException { Fault: DiskFault.Shortage }:
                logger.RequestRefused(operation, peer.Id, code, exception.Message);
                peer.Refuse(header, code, "The system has no descriptor or no memory for it now: try again.");
                break;
            case DiskException:
                // The store has logged and latched it.
                logger.RequestRefused(operation, peer.Id, code, exception.Message);
                peer.Refuse(header, code, null);
                break;
            default:
                logger.RequestFailed(operation, peer.Id, exception);
                peer.Refuse(header, code, "The operation failed; the broker's log says why.");
                break;
        }
    }
}
