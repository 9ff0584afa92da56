namespace EQueue.Protocol;

/// <summary>The body of every answer whose frame carries an error: the facts in words.</summary>
/// <param name="Message">What, expected, found; null when the code says it all.</param>
/// <param name="RetryAfter">When to try again; zero when the broker has no advice.</param>
public sealed record ErrorDetail(string? Message, TimeSpan RetryAfter) : IPayload<ErrorDetail>
{
    /// <summary>What an answer with an error says.</summary>
    /// <param name="code">From the answer's frame.</param>
    /// <param name="body">The answer's; one that does not follow the protocol leaves the code to say it all.</param>
    public static EQueueException ToException(ErrorCode code, ReadOnlySpan<byte> body)
    {
        if (code == ErrorCode.NotLeader && Payload.TryRead(body, out NotLeaderDetail longer))
            return ToException(code, longer.Detail);
        return Payload.TryRead(body, out ErrorDetail detail) ? ToException(code, detail) : new EQueueException(code);
    }

    /// <inheritdoc/>
    public static ErrorDetail Read(ref PayloadReader reader) =>
        new(reader.ReadNullableString(), reader.ReadMilliseconds());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Message);
        writer.WriteMilliseconds(RetryAfter);
    }

    private static EQueueException ToException(ErrorCode code, ErrorDetail detail) =>
        new(code, detail.Message ?? ErrorCodes.Describe(code) + ".") { RetryAfter = detail.RetryAfter };
}

/// <summary>An answer that says only that it was done.</summary>
public sealed record Done : IPayload<Done>
{
    /// <summary>The one answer there is.</summary>
    public static readonly Done Value = new();

    /// <inheritdoc/>
    public static Done Read(ref PayloadReader reader) => Value;

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
    }
}
