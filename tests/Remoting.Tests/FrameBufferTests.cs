using System.Buffers.Binary;

namespace EQueue.Remoting.Tests;

public sealed class FrameBufferTests
{
    [Fact]
    public void GivenManySmallWrites_WhenTheBufferGrows_ThenEveryByteIsKept()
    {
        using var buffer = FrameBuffer.Rent(10);
        byte[] expected = Calls.Content(1, 100_000);
        foreach (byte[] piece in expected.Chunk(37))
        {
            piece.CopyTo(buffer.GetSpan(piece.Length));
            buffer.Advance(piece.Length);
        }

        Assert.Equal(expected.Length, buffer.WrittenCount);
        Assert.Equal(expected, buffer.WrittenSpan.ToArray());
        Assert.Equal(expected, buffer.WrittenMemory.ToArray());
    }

    [Fact]
    public void GivenReservedCount_WhenFilledInAfterGrowth_ThenItStandsAtItsIndex()
    {
        using var buffer = FrameBuffer.Rent();
        buffer.Reserve(3).Fill(7);
        int at = buffer.WrittenCount;
        buffer.Reserve(sizeof(int));
        buffer.Reserve(10_000).Fill(9);
        BinaryPrimitives.WriteInt32LittleEndian(buffer.Slice(at, sizeof(int)), 10_000);
        Assert.Equal(10_000, BinaryPrimitives.ReadInt32LittleEndian(buffer.WrittenSpan[3..]));
        Assert.Equal(7, buffer.WrittenSpan[2]);
        Assert.Equal(9, buffer.WrittenSpan[7]);
    }

    [Fact]
    public void GivenTruncatedBuffer_WhenWrittenAgain_ThenOnlyTheFrontAndTheNewRemain()
    {
        using var buffer = FrameBuffer.Rent();
        new byte[] { 1, 2, 3, 4 }.CopyTo(buffer.Reserve(4));
        buffer.Truncate(2);
        buffer.Reserve(1)[0] = 9;
        Assert.Equal([1, 2, 9], buffer.WrittenSpan.ToArray());
    }

    [Fact]
    public void GivenIndexesOutsideTheWritten_WhenAsked_ThenTheyAreRefused()
    {
        using var buffer = FrameBuffer.Rent();
        buffer.Reserve(4);
        Assert.Throws<ArgumentOutOfRangeException>(() => buffer.Slice(1, 4).Length);
        Assert.Throws<ArgumentOutOfRangeException>(() => buffer.Slice(-1, 1).Length);
        Assert.Throws<ArgumentOutOfRangeException>(() => buffer.Truncate(5));
        Assert.Throws<ArgumentOutOfRangeException>(() => buffer.Advance(int.MaxValue));
        Assert.Throws<ArgumentOutOfRangeException>(() => FrameBuffer.Rent(-1));
    }

    [Fact]
    public void GivenBufferDisposedTwice_WhenTwoAreRented_ThenTheyAreNotTheSame()
    {
        var buffer = FrameBuffer.Rent(1_000_000);
        buffer.Dispose();
        buffer.Dispose();
        using var first = FrameBuffer.Rent(1_000_000);
        using var second = FrameBuffer.Rent(1_000_000);
        Assert.NotSame(first, second);
    }

    [Fact]
    public void GivenFullPool_WhenMoreIsReturned_ThenTheKeptBytesStayInBounds()
    {
        const int Kib = 1024;
        var pool = new SizeClassPool<object>(_ => new object(), 32 * Kib, 64 * Kib, 150 * Kib);
        for (int i = 0; i < 100; i++)
            pool.Return(new object(), 64 * Kib);
        Assert.Equal(128 * Kib, pool.KeptBytes);
        object kept = pool.Rent(40 * Kib);
        Assert.Equal(64 * Kib, pool.KeptBytes);
        pool.Return(kept, 64 * Kib);
        pool.Return(new object(), 128 * Kib);
        Assert.Equal(128 * Kib, pool.KeptBytes);
    }

    [Fact]
    public void GivenASmallObjectThatAThreadReturned_WhenItRentsOneOfTheSizeAgain_ThenItGetsThatOneAndNobodyElseDoes()
    {
        var pool = new SizeClassPool<object>(_ => new object(), 512, 4096, 10_000);
        var other = new SizeClassPool<object>(_ => new object(), 512, 4096, 10_000);
        object first = pool.Rent(512);
        object second = pool.Rent(512);
        pool.Return(first, 512);
        pool.Return(second, 512);
        Assert.Equal(512, pool.KeptBytes);
        Assert.NotSame(first, other.Rent(512));
        Assert.NotSame(first, pool.Rent(4096));
        Assert.Same(first, pool.Rent(512));
        Assert.Same(second, pool.Rent(512));
        Assert.Equal(0, pool.KeptBytes);
    }
}
