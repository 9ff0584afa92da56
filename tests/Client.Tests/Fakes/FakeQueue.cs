using System.Buffers.Binary;
using System.IO.Compression;
using System.Net;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Client.Tests;

/// <summary>A broker with one queue of fixed entries that serves fetches as it is told.</summary>
internal sealed class FakeQueue : IConnectionHandler, IAsyncDisposable
{
    public const int MessagesPerBatch = 10;

    private const int HeaderSize = 48;

    private static readonly QueueId Queue = new(1);

    private readonly Guid _storeId = Guid.NewGuid();
    private readonly List<byte[]> _entries = [];
    private readonly RemotingServer _server;
    private uint _sessions;
    private uint _session;
    private uint _sequence;
    private FrameHeader? _parked;
    private long _next;
    private int _fetchCount;

    private FakeQueue() => _server = new RemotingServer(
        new RemotingServerOptions(), this, NullLoggerFactory.Instance, TimeProvider.System);

    public string Address => ((IPEndPoint)_server.LocalEndPoint).ToString();

    public int FetchCount => Volatile.Read(ref _fetchCount);

    public long End => _entries.Count * MessagesPerBatch;

    /// <summary>Changes the entries of the n-th fetch's answer, from 0, on their way.</summary>
    public Action<int, byte[]> Tamper { get; set; } = static (_, _) => { };

    /// <summary>What the n-th fetch, from 0, meets instead of an answer: the frame's error, or ConnectionLost to close.</summary>
    public Func<int, ErrorCode> Meet { get; set; } = static _ => ErrorCode.None;

    /// <summary>What goes with <see cref="Meet"/>'s errors.</summary>
    public TimeSpan RetryAfter { get; set; }

    /// <summary>What the queue answers for an offset instead of entries.</summary>
    public Func<long, ErrorCode> QueueError { get; set; } = static _ => ErrorCode.None;

    public static async Task<FakeQueue> StartAsync(int batches, bool isCompressed = false)
    {
        var queue = new FakeQueue();
        for (int i = 0; i < batches; i++)
            queue._entries.Add(MakeEntry(Queue, i * MessagesPerBatch, isCompressed));
        await queue._server.StartAsync(CancellationToken.None);
        return queue;
    }

    public void OnConnected(FrameConnection connection)
    {
    }

    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
    }

    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        switch ((Opcode)header.Opcode)
        {
            case Opcode.Hello:
                Answer(connection, header, new HelloResponse
                {
                    Version = HelloRequest.ProtocolVersion,
                    StoreId = _storeId,
                    BrokerId = _storeId,
                    MaxFrameBytes = 16 << 20,
                });
                break;
            case Opcode.Route:
                var route = new QueueRoute(0, 0, QueueState.Readable | QueueState.Writable, Queue, 1, 0);
                Answer(connection, header, new RouteResponse(
                    [new BrokerAddress(_storeId, "", 0)],
                    [new TopicRoute(ErrorCode.None, "t", new TopicId(_storeId), 4 << 20, [route])]));
                break;
            case Opcode.FindOffsets:
                Assert.True(Payload.TryRead<FindOffsetsRequest>(payload.Span, out FindOffsetsRequest? find));
                Answer(connection, header, new FindOffsetsResponse([.. find.Questions.Select(question =>
                    new OffsetAnswer(ErrorCode.None, new QueueOffset(question.TimeMs == OffsetQuestion.End ? End : 0)))]));
                break;
            case Opcode.Fetch:
                Assert.True(Payload.TryRead<FetchRequest>(payload.Span, out FetchRequest fetch));
                Fetch(connection, header, fetch);
                break;
        }

        return ValueTask.CompletedTask;
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    /// <summary>An entry as the log stores it: ten messages whose bodies are their offsets.</summary>
    public static byte[] MakeEntry(QueueId queue, long baseOffset, bool isCompressed)
    {
        var builder = new RecordBatchBuilder();
        byte[] batch = new byte[4096];
        builder.Reset(batch, 1000);
        for (int i = 0; i < MessagesPerBatch; i++)
            Assert.True(builder.TryAppend(BitConverter.GetBytes((int)baseOffset + i), 1000));
        batch = batch[..builder.Complete(ProducerSession.None, -1)];
        if (isCompressed)
            batch = Compress(batch);
        RecordBatch.Stamp(batch, new QueueOffset(baseOffset), 1);
        byte[] entry = new byte[HeaderSize + batch.Length];
        BinaryPrimitives.WriteInt32LittleEndian(entry, entry.Length);
        BinaryPrimitives.WriteUInt32LittleEndian(entry.AsSpan(16), queue.Value);
        BinaryPrimitives.WriteInt32LittleEndian(entry.AsSpan(20), 1);
        BinaryPrimitives.WriteInt64LittleEndian(entry.AsSpan(24), 2000);
        entry[32] = 1;
        entry[33] = HeaderSize;
        BinaryPrimitives.WriteUInt32LittleEndian(entry.AsSpan(36), builder.TagBits);
        batch.CopyTo(entry, HeaderSize);
        return entry;
    }

    /// <summary>Says that the entry's batch is compressed, which it is not, under a CRC that is right.</summary>
    public static void ClaimCodec(byte[] entry, RecordCodec codec)
    {
        Span<byte> batch = entry.AsSpan(HeaderSize);
        batch[RecordBatchLayout.Attributes + 1] |= (byte)codec;
        BinaryPrimitives.WriteUInt32BigEndian(
            batch[RecordBatchLayout.Crc..], Crc32C.Compute(batch[RecordBatchLayout.Attributes..]));
    }

    private static void Answer<T>(FrameConnection connection, FrameHeader header, T answer, ErrorCode error = ErrorCode.None)
        where T : IPayload<T>
    {
        var frame = FrameBuffer.Rent();
        answer.Write(new PayloadWriter(frame));
        connection.Send(
            frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, (ushort)error);
    }

    private static byte[] Compress(byte[] batch)
    {
        using var target = new MemoryStream();
        target.Write(batch.AsSpan(0, RecordBatchLayout.HeaderSize));
        using (var gzip = new GZipStream(target, CompressionLevel.Fastest, leaveOpen: true))
            gzip.Write(batch.AsSpan(RecordBatchLayout.HeaderSize));
        byte[] compressed = target.ToArray();
        BinaryPrimitives.WriteInt32BigEndian(
            compressed.AsSpan(RecordBatchLayout.Length), compressed.Length - RecordBatchLayout.LengthPrefix);
        compressed[RecordBatchLayout.Attributes + 1] |= (byte)RecordCodec.Gzip;
        BinaryPrimitives.WriteUInt32BigEndian(
            compressed.AsSpan(RecordBatchLayout.Crc), Crc32C.Compute(compressed.AsSpan(RecordBatchLayout.Attributes)));
        return compressed;
    }

    private void Fetch(FrameConnection connection, FrameHeader header, FetchRequest request)
    {
        int number = Interlocked.Increment(ref _fetchCount) - 1;
        ErrorCode met = Meet(number);
        if (met == ErrorCode.ConnectionLost)
        {
            connection.Close(null);
            return;
        }

        if (met == ErrorCode.None && request.SessionId != 0
            && (request.SessionId != _session || request.Sequence != _sequence))
        {
            met = ErrorCode.UnknownFetchSession;
        }

        if (met != ErrorCode.None)
        {
            _session = 0;
            if (_parked is { } parked)
                Answer(connection, parked, new ErrorDetail(null, TimeSpan.Zero), ErrorCode.UnknownFetchSession);
            _parked = null;
            Answer(connection, header, new ErrorDetail(null, RetryAfter), met);
            return;
        }

        if (request.SessionId == 0)
            _session = ++_sessions;
        _sequence = request.Sequence + 1;
        if (request.Queues.Count > 0)
            _next = request.Queues[0].Offset.Value;
        Send(connection, header, request, number);
    }

    private void Send(FrameConnection connection, FrameHeader header, FetchRequest request, int number)
    {
        ErrorCode error = QueueError(_next);
        int index = (int)(_next / MessagesPerBatch);
        if (error == ErrorCode.None && index >= _entries.Count)
        {
            _parked = header;
            return;
        }

        byte[] entries = error == ErrorCode.None ? [.. _entries[index]] : Array.Empty<byte>();
        Tamper(number, entries);
        long next = (index + 1L) * MessagesPerBatch;
        var frame = FrameBuffer.Rent();
        new FetchResponseHeader(_session, request.Sequence, 0, 1).Write(frame.Reserve(FetchResponseHeader.Size));
        new FetchedQueueHeader(
            Queue, 0, error, default, new QueueOffset(End), new QueueOffset(next), -1, entries.Length)
            .Write(frame.Reserve(FetchedQueueHeader.Size));
        entries.CopyTo(frame.Reserve(entries.Length));
        if (error == ErrorCode.None)
            _next = next;
        connection.Send(frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0);
    }
}
