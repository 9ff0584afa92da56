using System.Runtime.Intrinsics.X86;
using System.Text;
using Arm = System.Runtime.Intrinsics.Arm;

namespace EQueue.Protocol.Tests;

public class Crc32CTests
{
    public delegate uint AppendPath(uint crc, ReadOnlySpan<byte> bytes);

    /// <summary>Vectors of RFC 3720 appendix B.4 and the check value of the CRC catalogue.</summary>
    public static TheoryData<byte[], uint> Vectors => new()
    {
        { [], 0 },
        { Encoding.ASCII.GetBytes("123456789"), 0xE3069283 },
        { new byte[32], 0x8A9136AA },
        { [.. Enumerable.Repeat((byte)0xFF, 32)], 0x62A8AB43 },
        { [.. Enumerable.Range(0, 32).Select(i => (byte)i)], 0x46DD794E },
        { [.. Enumerable.Range(0, 32).Select(i => (byte)(31 - i))], 0x113FDB5C },
    };

    [Theory]
    [MemberData(nameof(Vectors))]
    public void GivenKnownBytes_WhenComputed_ThenThePublishedValueComesOut(byte[] bytes, uint expected)
    {
        Assert.Equal(expected, Crc32C.Compute(bytes));
        Assert.Equal(expected, Crc32C.AppendSoftware(0, bytes));
    }

    [Fact]
    public void GivenThreeStreams_WhenComparedWithTables_ThenTheyAgreeAtEveryLength()
    {
        Assert.SkipUnless(Sse42.X64.IsSupported && Pclmulqdq.IsSupported, "This processor is not x64 with PCLMULQDQ.");
        AssertAgrees(Crc32C.AppendInterleaved);
    }

    [Fact]
    public void GivenOneStream_WhenComparedWithTables_ThenTheyAgreeAtEveryLength()
    {
        Assert.SkipUnless(Sse42.X64.IsSupported, "This processor is not x64 with SSE 4.2.");
        AssertAgrees(Crc32C.AppendSerial);
    }

    [Fact]
    public void GivenArm_WhenComparedWithTables_ThenTheyAgreeAtEveryLength()
    {
        Assert.SkipUnless(Arm.Crc32.Arm64.IsSupported, "This processor is not Arm64 with the CRC extension.");
        AssertAgrees(Crc32C.AppendArm);
    }

    [Fact]
    public void GivenBytesInTwoParts_WhenTheSecondIsAppended_ThenTheWholeIsCovered()
    {
        byte[] bytes = RandomBytes(20_000);
        uint whole = Crc32C.Compute(bytes);
        foreach (int cut in (int[])[0, 1, 7, 8, 767, 768, 769, 6143, 6144, 6145, 19_999, 20_000])
            Assert.Equal(whole, Crc32C.Append(Crc32C.Compute(bytes.AsSpan(0, cut)), bytes.AsSpan(cut)));
    }

    [Fact]
    public void GivenAnyBit_WhenFlipped_ThenTheValueChanges()
    {
        byte[] bytes = RandomBytes(1_000);
        uint expected = Crc32C.Compute(bytes);
        for (int bit = 0; bit < bytes.Length * 8; bit++)
        {
            bytes[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.NotEqual(expected, Crc32C.Compute(bytes));
            bytes[bit / 8] ^= (byte)(1 << (bit % 8));
        }
    }

    private static void AssertAgrees(AppendPath path)
    {
        byte[] bytes = RandomBytes(25_000);
        IEnumerable<int> lengths = [.. Enumerable.Range(0, 1_700), 6_143, 6_144, 6_145, 12_287, 12_288, 13_056, 24_901];
        foreach (int length in lengths)
        {
            // An odd start: no path may lean on alignment.
            ReadOnlySpan<byte> part = bytes.AsSpan(length % 9, length);
            Assert.Equal(Crc32C.AppendSoftware(0x1234_5678, part), path(0x1234_5678, part));
        }
    }

    private static byte[] RandomBytes(int size)
    {
        byte[] bytes = new byte[size];
        new Random(20260101).NextBytes(bytes);
        return bytes;
    }
}
