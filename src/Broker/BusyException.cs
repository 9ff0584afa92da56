using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A typed error that knows when another try can succeed.</summary>
internal sealed class BusyException(
    ErrorCode code, string message, TimeSpan retryAfter) : EQueueException(code, message)
{
    public TimeSpan RetryAfter { get; } = retryAfter;
}
