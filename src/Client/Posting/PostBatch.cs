using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Messages of one queue that are stored together, once and without a session: asked again they would be
/// stored twice.</summary>
/// <remarks>Used by one flow at a time.</remarks>
/// <param name="route">Where the queue is.</param>
/// <param name="mostBytes">Of the batch, as the broker takes it.</param>
internal sealed class PostBatch(QueueRoute route, long mostBytes)
{
    /// <summary>Room that the builder wants behind what it writes.</summary>
    private const int Overhang = 64;

    private readonly List<PostedMessage> _messages = [];
    private long _size = RecordBatchLayout.HeaderSize;

    public int Queue => route.Number;

    public IReadOnlyList<PostedMessage> Messages => _messages;

    /// <summary>Takes a message unless the batch would be too large with it.</summary>
    public bool TryAdd(PostedMessage message)
    {
        long size = _size + RecordBatchBuilder.SizeOf(message.Content, _messages.Count, 0);
        if (size > mostBytes)
            return false;
        _size = size;
        _messages.Add(message);
        return true;
    }

    /// <summary>Has the broker store it.</summary>
    /// <param name="link">To the broker of the queue.</param>
    /// <param name="durability">When the answer is due.</param>
    /// <param name="deadlineMs">How long it may wait for room at the broker.</param>
    /// <param name="nowMs">The create time of its messages.</param>
    /// <param name="timeout">Until the answer.</param>
    /// <param name="cancellationToken">Ends the wait; it may be stored all the same.</param>
    /// <exception cref="EQueueException">It is not stored, or not known to be.</exception>
    public async ValueTask<ProduceResult> SendAsync(
        BrokerLink link,
        Durability durability,
        int deadlineMs,
        long nowMs,
        TimeSpan timeout,
        CancellationToken cancellationToken)
    {
        ProduceResult result;
        try
        {
            using ResponseFrame response = await link.Remoting.InvokeAsync(
                ToRequest(durability, deadlineMs, nowMs), (byte)Opcode.Produce, 0, timeout, cancellationToken)
                .ConfigureAwait(false);
            if (response.Header.Error != 0)
                throw link.FaultOf(response);
            result = Read(response.PayloadSpan, link.Address);
        }
        catch (RemotingException exception)
        {
            throw link.FaultOf(exception);
        }

        return result.IsStored ? result : throw new EQueueException(result.Error)
        {
            RetryAfter = TimeSpan.FromMilliseconds(result.RetryAfterMs),
        };
    }

    private static ProduceResult Read(ReadOnlySpan<byte> payload, ServerAddress address) =>
        ProduceResponse.TryReadHeader(payload, out _, out int count) && count == 1
            ? ProduceResult.Read(payload[ProduceResponse.HeaderSize..])
            : throw Faults.Malformed(Opcode.Produce, address.ToString());

    /// <summary>The request that carries this batch alone; remoting's to dispose.</summary>
    private FrameBuffer ToRequest(Durability durability, int deadlineMs, long nowMs)
    {
        byte[] bytes = new byte[_size + Overhang];
        var builder = new RecordBatchBuilder();
        builder.Reset(bytes, nowMs);
        foreach (PostedMessage message in _messages)
        {
            if (!builder.TryAppend(message.Content, nowMs))
                throw new InvalidOperationException($"A batch of {_size} bytes was counted too small.");
        }

        int size = builder.Complete(ProducerSession.None, baseSequence: -1);
        var frame = FrameBuffer.Rent(ProduceRequestHeader.Size + ProduceBatchHeader.Size + size);
        new ProduceRequestHeader(durability, deadlineMs, TransactionId: 0, BatchCount: 1)
            .Write(frame.Reserve(ProduceRequestHeader.Size));
        new ProduceBatchHeader(route.Id, route.Log, route.Epoch, builder.TagBits, size)
            .Write(frame.Reserve(ProduceBatchHeader.Size));
        bytes.AsSpan(0, size).CopyTo(frame.Reserve(size));
        return frame;
    }
}
