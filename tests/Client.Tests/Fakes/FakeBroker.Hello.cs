using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <content>Connections are greeted, or refused as the test says.</content>
internal sealed partial class FakeBroker
{
    private int _helloCount;

    /// <summary>What the n-th Hello meets, from 0: an error closes the connection.</summary>
    public Func<int, ErrorCode> MeetHello { get; set; } = static _ => ErrorCode.None;

    /// <summary>When its refusals say that another try is worth its while.</summary>
    public TimeSpan RefusalDelay { get; set; }

    /// <summary>What it says that it is.</summary>
    public string Version { get; set; } = "fake";

    public int HelloCount => Volatile.Read(ref _helloCount);

    private void Greet(FrameConnection connection, FrameHeader header, ReadOnlySpan<byte> payload)
    {
        ErrorCode error = MeetHello(Interlocked.Increment(ref _helloCount) - 1);
        Hellos.Enqueue((header.Version, payload.ToArray()));
        if (error == ErrorCode.None && header.Version == 0)
            Answer(connection, header, Hello());
        else if (error == ErrorCode.None)
            LogIn(connection, header, payload);
        else
            Refuse(connection, header, error, "As the test says.");
    }

    private void Refuse(FrameConnection connection, FrameHeader header, ErrorCode error, string message)
    {
        var frame = FrameBuffer.Rent();
        new ErrorDetail(message, RefusalDelay).Write(new PayloadWriter(frame));
        connection.Send(
            frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, (ushort)error);
        connection.CloseAfterFlush();
    }

    private HelloResponse Hello() => new()
    {
        Version = HelloRequest.ProtocolVersion,
        Operations = OperationVersions.All,
        StoreId = StoreId,
        BrokerId = StoreId,
        BrokerVersion = Version,
        MaxFrameBytes = 16 << 20,
        MaxMessageBytes = 4 << 20,
        MaxBatchBytes = (4 << 20) + 65536,
        SequenceWindow = 16,
    };
}
