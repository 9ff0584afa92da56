using System.Buffers;
using System.IO.Pipelines;
using EQueue.Support.Fuzz;

namespace EQueue.Remoting.Tests;

/// <summary>The frame decoder against mutations of a corpus of streams, in one piece and in many.</summary>
public sealed class FrameFuzzTests
{
    private const int MaxFrameBytes = 1024 * 1024;

    /// <summary>A pooled block for each piece of a payload, and an exception for a stream that is none.</summary>
    private const int BytesPerByte = 64;

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(int.MaxValue)]
    public void GivenMutatedStreams_WhenRead_ThenTheyAreFramesOrAViolation(int pieceBytes)
    {
        int count = FuzzRun.Inputs / 12;
        IReadOnlyList<byte[]> corpus = Corpus.Read("Frames");
        Assert.NotEmpty(corpus);
        Assert.All(corpus, stream => Assert.True(Read(stream, pieceBytes)));
        Assert.InRange(
            FuzzRun.Feed("frames", corpus, count, BytesPerByte, bytes => Read(bytes, pieceBytes)), 1, count);
    }

    [Fact]
    public void GivenMutatedHeaders_WhenRead_ThenALengthThatIsAcceptedIsWithinItsRange()
    {
        int count = FuzzRun.Inputs / 4;
        Assert.InRange(FuzzRun.Feed("header", Corpus.Read("Frames"), count, 0, static bytes =>
        {
            bool isRead = FrameHeader.TryRead(bytes, MaxFrameBytes, out FrameHeader header, out FrameFault fault);
            if (isRead != (fault == FrameFault.None))
                throw new InvalidDataException($"{isRead} with {fault}");
            if (isRead && header.Length is < FrameHeader.Size or > MaxFrameBytes)
                throw new InvalidDataException($"a frame of {header.Length} bytes");
            return isRead;
        }), 1, count);
    }

    private static bool Read(Span<byte> bytes, int pieceBytes)
    {
        using var reader = new FrameReader(PipeReader.Create(Cut(bytes.ToArray(), pieceBytes)), MaxFrameBytes);
        long total = 0;
        try
        {
            while (Now(reader.FillAsync()))
            {
                while (reader.TryRead(out FrameHeader header, out ReadOnlyMemory<byte> payload))
                {
                    total += FrameHeader.Size + payload.Length;
                    if (payload.Length != header.PayloadBytes || total > bytes.Length)
                        throw new InvalidDataException($"{total} bytes of frames came out of {bytes.Length}.");
                }
            }

            return total == bytes.Length;
        }
        catch (RemotingException exception) when (exception.Error == RemotingError.ProtocolViolation)
        {
            return false;
        }
    }

    /// <summary>What is all there is read without waiting.</summary>
    private static bool Now(ValueTask<bool> filling) =>
        filling.IsCompleted ? filling.GetAwaiter().GetResult() : throw new InvalidOperationException("It waits.");

    private static ReadOnlySequence<byte> Cut(ReadOnlyMemory<byte> bytes, int pieceBytes)
    {
        if (bytes.Length <= pieceBytes)
            return new ReadOnlySequence<byte>(bytes);
        var first = new Piece(bytes[..pieceBytes], null);
        Piece last = first;
        for (int at = pieceBytes; at < bytes.Length; at += pieceBytes)
            last = new Piece(bytes.Slice(at, Math.Min(pieceBytes, bytes.Length - at)), last);
        return new ReadOnlySequence<byte>(first, 0, last, last.Memory.Length);
    }

    private sealed class Piece : ReadOnlySequenceSegment<byte>
    {
        public Piece(ReadOnlyMemory<byte> memory, Piece? before)
        {
            Memory = memory;
            if (before is null)
                return;
            RunningIndex = before.RunningIndex + before.Memory.Length;
            before.Next = this;
        }
    }
}
