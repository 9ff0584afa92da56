namespace EQueue.Protocol;

/// <summary>Something that writes itself into a frame's body and reads itself back.</summary>
/// <typeparam name="TSelf">The type itself.</typeparam>
public interface IPayload<TSelf>
    where TSelf : IPayload<TSelf>
{
    /// <summary>
    /// Reads the fields; a payload that does not fit leaves the reader failed and the result meaningless.
    /// </summary>
    static abstract TSelf Read(ref PayloadReader reader);

    /// <summary>Writes the fields in the order of the protocol's table.</summary>
    void Write(PayloadWriter writer);
}

/// <summary>The request of one operation.</summary>
/// <typeparam name="TSelf">The type itself.</typeparam>
/// <typeparam name="TResponse">What the operation answers when it succeeds.</typeparam>
public interface IRequest<TSelf, TResponse> : IPayload<TSelf>
    where TSelf : IRequest<TSelf, TResponse>
    where TResponse : IPayload<TResponse>
{
    /// <summary>The operation.</summary>
    static abstract Opcode Opcode { get; }
}

/// <summary>Reads whole bodies.</summary>
public static class Payload
{
    /// <summary>Reads a body that must hold exactly one <typeparamref name="T"/>.</summary>
    /// <returns>False when a field does not fit, is outside its range, or bytes are left over.</returns>
    public static bool TryRead<T>(ReadOnlySpan<byte> payload, out T value)
        where T : IPayload<T>
    {
        var reader = new PayloadReader(payload);
        value = T.Read(ref reader);
        return reader.IsComplete;
    }
}
