using System.Buffers.Binary;

namespace EQueue.Remoting.Tests;

/// <summary>A sender, and in memory the other end of its wire.</summary>
internal sealed class SenderPair : IDisposable
{
    public const int RoomyBytes = 1024 * 1024;

    private readonly Wire _farWire;
    private readonly FrameReader _reader;

    /// <param name="maxQueuedBytes">The sender's.</param>
    /// <param name="mayFail">Whether the wire may refuse; else that throws.</param>
    public SenderPair(int maxQueuedBytes = RoomyBytes, bool mayFail = false)
    {
        (InMemoryStream near, Far) = InMemoryStream.CreatePair();
        Wire = new Wire(near);
        _farWire = new Wire(Far);
        _reader = new FrameReader(new WireReader(_farWire, 64 * 1024), RoomyBytes);
        Sender = new FrameSender(
            Wire,
            maxQueuedBytes,
            TimeProvider.System,
            exception =>
            {
                if (!mayFail)
                    throw exception;
            },
            Gate);
    }

    public FrameSender Sender { get; }

    /// <summary>Guards the sender's queue.</summary>
    public Gate Gate { get; } = new();

    public Wire Wire { get; }

    public InMemoryStream Far { get; }

    /// <summary>Writes a frame's number to where <see cref="ReadAsync"/> finds it.</summary>
    public static void Number(Span<byte> payload, int number) => BinaryPrimitives.WriteInt32LittleEndian(payload, number);

    /// <summary>The header of a frame with this payload.</summary>
    public static FrameHeader Header(ReadOnlySpan<byte> payload) =>
        FrameHeader.Of(payload, 1, 1, FrameFlags.Oneway, 0, 0);

    /// <summary>Reads so many frames, which are numbered from 0 on.</summary>
    /// <returns>How many came, with what came beside the last one.</returns>
    public async Task<int> ReadAsync(int count)
    {
        int next = 0;
        while (next < count && await _reader.FillAsync())
        {
            while (_reader.TryRead(out _, out ReadOnlyMemory<byte> payload))
                Assert.Equal(next++, BinaryPrimitives.ReadInt32LittleEndian(payload.Span));
        }

        return next;
    }

    public void Dispose()
    {
        _reader.Dispose();
        _farWire.Dispose();
        Wire.Dispose();
    }
}
