using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;

namespace EQueue.Remoting.Tests;

public sealed class FrameReaderTests
{
    private const int MaxFrameBytes = 1024 * 1024;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task GivenFramesCutAtRandom_WhenReadFromSocket_ThenEveryFrameIsWhole(int seed)
    {
        (Socket sender, Socket receiver) = await SocketPair.ConnectAsync();
        using (sender)
        using (receiver)
        {
            byte[][] payloads = Payloads(seed);
            Task sending = SendInPiecesAsync(sender, payloads, seed);
            using var reader = new FrameReader(new WireReader(new Wire(receiver, isForTls: false), 8192), MaxFrameBytes);
            await AssertReadsAsync(reader, payloads);
            await sending;
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(16)]
    [InlineData(1000)]
    public async Task GivenForeignPipeOfSmallSegments_WhenRead_ThenEveryFrameIsWhole(int pieceBytes)
    {
        var pipe = new Pipe(new PipeOptions(minimumSegmentSize: 16, pauseWriterThreshold: 0));
        byte[][] payloads = [.. Payloads(7).Where(payload => payload.Length < 5000)];
        var writing = Task.Run(async () =>
        {
            foreach (byte[] piece in payloads.SelectMany(Framed).Chunk(pieceBytes))
                await pipe.Writer.WriteAsync(piece);
            await pipe.Writer.CompleteAsync();
        });
        using var reader = new FrameReader(pipe.Reader, MaxFrameBytes);
        await AssertReadsAsync(reader, payloads);
        await writing;
    }

    [Fact]
    public async Task GivenLeasesThatAreKept_WhenTheReaderGoesOn_ThenTheirBytesDoNotChange()
    {
        (Socket sender, Socket receiver) = await SocketPair.ConnectAsync();
        using (sender)
        using (receiver)
        {
            byte[][] payloads = Payloads(11);
            Task sending = SendInPiecesAsync(sender, payloads, 11);
            using var reader = new FrameReader(new WireReader(new Wire(receiver, isForTls: false), 8192), MaxFrameBytes);
            var leases = new List<ResponseFrame>();
            while (await reader.FillAsync())
            {
                while (reader.TryRead(out FrameHeader header, out ReadOnlyMemory<byte> payload))
                    leases.Add(reader.Lease(header, payload));
            }

            await sending;
            Assert.Equal(payloads.Length, leases.Count);
            for (int i = 0; i < payloads.Length; i++)
                Assert.Equal(payloads[i], leases[i].Payload.ToArray());
            foreach (ResponseFrame lease in leases)
                lease.Dispose();
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(15)]
    [InlineData(16)]
    [InlineData(99)]
    public async Task GivenStreamThatEndsInsideFrame_WhenRead_ThenItIsViolation(int bytes)
    {
        var pipe = new Pipe();
        byte[] frame = Calls.Frame(1, FrameFlags.None, 1, new byte[84]);
        await pipe.Writer.WriteAsync(frame.AsMemory(0, bytes));
        await pipe.Writer.CompleteAsync();
        using var reader = new FrameReader(pipe.Reader, MaxFrameBytes);
        RemotingException exception = await Assert.ThrowsAsync<RemotingException>(async () =>
        {
            while (await reader.FillAsync())
                Assert.False(reader.TryRead(out _, out _));
        });
        Assert.Equal(RemotingError.ProtocolViolation, exception.Error);
    }

    [Fact]
    public async Task GivenClaimOfLargeFrame_WhenFewBytesCome_ThenLittleIsAllocated()
    {
        (Socket sender, Socket receiver) = await SocketPair.ConnectAsync();
        using (sender)
        using (receiver)
        {
            byte[] header = new byte[FrameHeader.Size];
            new FrameHeader(900 * 1024 * 1024, 1, 1, FrameFlags.None, 1, 0).Write(header);
            await sender.SendAsync(header);
            using var reader = new FrameReader(new WireReader(new Wire(receiver, isForTls: false), 8192), 1024 * 1024 * 1024);
            Assert.True(await reader.FillAsync());
            Assert.False(reader.TryRead(out _, out _));
            long before = GC.GetAllocatedBytesForCurrentThread();
            ValueTask<bool> filling = reader.FillAsync();
            Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 256 * 1024);
            sender.Dispose();
            await Assert.ThrowsAsync<RemotingException>(async () => await filling);
        }
    }

    private static byte[][] Payloads(int seed)
    {
        var random = new Random(seed);
        return [.. Enumerable.Range(0, 300).Select(i => Calls.Content(i, i % 50 == 49
            ? random.Next(60_000, 300_000)
            : random.Next(0, i % 7 == 0 ? 5000 : 60)))];
    }

    private static byte[] Framed(byte[] payload) =>
        Calls.Frame(9, FrameFlags.None, (uint)payload.Length, payload);

    private static async Task SendInPiecesAsync(Socket sender, byte[][] payloads, int seed)
    {
        var random = new Random(seed);
        ReadOnlyMemory<byte> rest = payloads.SelectMany(Framed).ToArray();
        while (!rest.IsEmpty)
        {
            int bytes = Math.Min(rest.Length, random.Next(1, random.Next(2, 20_000)));
            await sender.SendAsync(rest[..bytes]);
            rest = rest[bytes..];
        }

        sender.Shutdown(SocketShutdown.Send);
    }

    private static async Task AssertReadsAsync(FrameReader reader, byte[][] expected)
    {
        int count = 0;
        while (await reader.FillAsync())
        {
            while (reader.TryRead(out FrameHeader header, out ReadOnlyMemory<byte> payload))
            {
                Assert.Equal(expected[count].Length, (int)header.CorrelationId);
                Assert.Equal(expected[count], payload.ToArray());
                count++;
            }
        }

        Assert.Equal(expected.Length, count);
    }
}
