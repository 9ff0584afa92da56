using System.Text;
using EQueue.Protocol;

namespace EQueue.Client.Tests;

/// <summary>Producers that compress: readers get the same messages, and fewer bytes are stored.</summary>
public sealed class CompressedSendTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public static TheoryData<RecordCodec> Codecs => [.. Enum.GetValues<RecordCodec>()];

    [Theory]
    [MemberData(nameof(Codecs))]
    public async Task GivenACodec_WhenManyMessagesAreSent_ThenEachIsReadAsItWasSentAndLessIsStored(RecordCodec codec)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        await using (Producer producer = broker.Client.CreateProducer(new ProducerOptions
        {
            Compression = codec,
            Linger = TimeSpan.FromMilliseconds(50),
        }))
        {
            List<Task> sends = [];
            for (int i = 0; i < 2_000; i++)
            {
                byte[] body = Encoding.UTF8.GetBytes(Text(i));
                sends.Add(producer.SendAsync("orders", body, $"customer-{i % 7}", "paid", null, Token).AsTask());
                producer.SendOneway("orders", "oneway"u8, cancellationToken: Token);
            }

            await Task.WhenAll(sends);
        }

        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { Tags = ["paid"] });
        await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
        int next = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.Equal(Text(next), Encoding.UTF8.GetString(message.Body.Span));
            Assert.Equal($"customer-{next % 7}", message.KeyText);
            if (++next == 2_000)
                break;
        }

        long stored = (await broker.Client.Admin.DescribeTopicAsync("orders", Token)).Queues[0].StoredBytes;
        Assert.True(
            codec == RecordCodec.None ? stored > 2_000 * 100 : stored < 2_000 * 60, $"{stored} bytes are stored");
    }

    [Fact]
    public async Task GivenASingleSmallMessage_WhenCompressed_ThenItIsSentAsItIs()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer =
            broker.Client.CreateProducer(new ProducerOptions { Compression = RecordCodec.Zstd });

        await producer.SendAsync("orders", "x"u8, cancellationToken: Token);

        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
        {
            Assert.True(RecordBatch.TryReadHeader(batch.Bytes.Span, out RecordBatchHeader header, out _));
            Assert.Equal((RecordCodec.None, 1), (header.Codec, header.RecordsCount));
            break;
        }
    }

    private static string Text(int i) => $"order number {i}: one coffee, two teas, the usual table, paid in cash ({i})";
}
