using System.Buffers.Binary;
using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <summary>Sends single messages to queues that the test names, which a producer does not let one do.</summary>
internal sealed class QueueSender : IAsyncDisposable
{
    private readonly BrokerLink _link;
    private readonly string _topic;

    public QueueSender(string address, string topic)
    {
        _topic = topic;
        _link = LinkTo(address);
    }

    /// <summary>A connection for requests that the test makes itself.</summary>
    public static BrokerLink LinkTo(string address, bool readsHistory = false) => new(
        ServerAddress.ParseList(address)[0],
        new ClientOptions(),
        Guid.NewGuid(),
        new ConnectReports(new ClientOptions()),
        readsHistory);

    public async Task<SendReceipt> SendAsync(
        int queue, string? key, string body, CancellationToken cancellationToken)
    {
        RouteResponse route = await _link.InvokeAsync(
            new RouteRequest([_topic], AutoCreate: false), TimeSpan.FromSeconds(20), cancellationToken);
        byte[] batch = Encode(key, body);
        var frame = FrameBuffer.Rent();
        new ProduceRequestHeader(Durability.Policy, 0, 0, 1).Write(frame.Reserve(ProduceRequestHeader.Size));
        new ProduceBatchHeader(route.Topics[0].Queues[queue].Id, 0, -1, uint.MaxValue, batch.Length)
            .Write(frame.Reserve(ProduceBatchHeader.Size));
        batch.CopyTo(frame.Reserve(batch.Length));
        using ResponseFrame answer = await _link.Remoting.InvokeAsync(
            frame, (byte)Opcode.Produce, 0, TimeSpan.FromSeconds(20), cancellationToken);
        Assert.Equal(0, answer.Header.Error);
        var result = ProduceResult.Read(answer.Payload.Span[ProduceResponse.HeaderSize..]);
        Assert.Equal(ErrorCode.None, result.Error);
        return new SendReceipt(_topic, queue, result.FirstOffset, result.StoredTimeMs, Durability.Policy);
    }

    public ValueTask DisposeAsync() => _link.DisposeAsync();

    /// <summary>A batch that says that it is compressed, and is not.</summary>
    public static byte[] Claiming(RecordCodec codec, string? key, string body)
    {
        byte[] batch = Encode(key, body);
        batch[RecordBatchLayout.Attributes + 1] |= (byte)codec;
        BinaryPrimitives.WriteUInt32BigEndian(
            batch.AsSpan(RecordBatchLayout.Crc), Crc32C.Compute(batch.AsSpan(RecordBatchLayout.Attributes)));
        return batch;
    }

    private static byte[] Encode(string? key, string body)
    {
        var builder = new RecordBatchBuilder();
        byte[] buffer = new byte[1_024];
        builder.Reset(buffer, 1_000);
        var content = new RecordContent
        {
            Body = Encoding.UTF8.GetBytes(body),
            Key = key is null ? default : (OptionalBytes)Encoding.UTF8.GetBytes(key),
        };
        Assert.True(builder.TryAppend(content, 1_000));
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }
}
