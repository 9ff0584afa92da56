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
    public void Answer(BrokerConnection peer, in FrameHeader header, Exception exception)
    {
        Interlocked.Increment(ref counters.RefusedRequests);
        var operation = (Opcode)header.Opcode;
        switch (exception)
        {
            case EQueueException known:
                logger.RequestRefused(operation, peer.Id, known.Code, known.Message);
                peer.Refuse(header, known.Code, known.Message, known.RetryAfter);
                break;
            case DiskException { Fault: DiskFault.Shortage }:
                logger.RequestRefused(operation, peer.Id, ErrorCode.LimitReached, exception.Message);
                peer.Refuse(
                    header, ErrorCode.LimitReached, "The system has no descriptor or no memory for it now: try again.");
                break;
            case DiskException:
                // The store has logged and latched it.
                logger.RequestRefused(operation, peer.Id, ErrorCode.StoreFaulted, exception.Message);
                peer.Refuse(header, ErrorCode.StoreFaulted, null);
                break;
            default:
                logger.RequestFailed(operation, peer.Id, exception);
                peer.Refuse(header, ErrorCode.InternalError, "The operation failed; the broker's log says why.");
                break;
        }
    }
}
