using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A request failed with a code that both sides know.</summary>
public class EQueueException : Exception
{
    /// <summary>Makes the exception of <paramref name="code"/> with its own text.</summary>
    public EQueueException(ErrorCode code)
        : base(ErrorCodes.Describe(code) + ".") => Code = code;

    /// <summary>Makes the exception of <paramref name="code"/> with facts: what, expected, found.</summary>
    public EQueueException(ErrorCode code, string message)
        : base(message) => Code = code;

    /// <summary>Makes the exception of <paramref name="code"/> with facts and its cause.</summary>
    public EQueueException(ErrorCode code, string message, Exception? innerException)
        : base(message, innerException) => Code = code;

    /// <summary>What went wrong.</summary>
    public ErrorCode Code { get; }

    /// <summary>When another try is worth its while; zero = nothing is known.</summary>
    public TimeSpan RetryAfter { get; init; }

    /// <summary>Whether the same request, sent again later, can succeed.</summary>
    public bool IsRetriable => ErrorCodes.IsRetriable(Code);
}
