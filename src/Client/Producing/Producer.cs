using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Sends messages: gathers them into batches by itself, retries without duplicates, keeps the order of each key.</summary>
public sealed class Producer : IAsyncDisposable
{
    internal Producer(EQueueClient client, ProducerOptions options)
    {
    }

    /// <summary>Sends a message; completes when it is stored.</summary>
    public ValueTask<SendReceipt> SendAsync(
        string topic,
        ReadOnlySpan<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Sends a message; completes when it is stored.</summary>
    public ValueTask<SendReceipt> SendAsync(
        string topic,
        ReadOnlyMemory<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Sends a message whose parts may be absent; completes when it is stored.</summary>
    public ValueTask<SendReceipt> SendAsync(
        string topic, in RecordContent content, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Sends a message; completes when it is stored.</summary>
    public ValueTask<SendReceipt> SendAsync(
        string topic, Message message, CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Sends a message and tells the callback what became of it.</summary>
    public void Send(
        string topic, Message message, SendCallback callback, object? state = null, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Sends a message and blocks until it is stored.</summary>
    public SendReceipt Send(
        string topic,
        ReadOnlySpan<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Sends a message and blocks until it is stored.</summary>
    public SendReceipt Send(string topic, Message message, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Sends a message that nobody acknowledges: it may be lost with the connection.</summary>
    public void SendOneway(
        string topic,
        ReadOnlySpan<byte> body,
        string? key = null,
        string? tag = null,
        RecordProperties? properties = null,
        CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Sends messages in order; completes when all of them are stored.</summary>
    public ValueTask<BatchReceipt> SendBatchAsync(
        string topic, IReadOnlyList<Message> messages, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Completes when everything sent before is stored or has failed.</summary>
    public ValueTask FlushAsync(CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => throw new NotSupportedException();
}
