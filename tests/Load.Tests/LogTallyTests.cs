using System.Buffers.Binary;
using EQueue.Load.Scenarios;

namespace EQueue.Load.Tests;

public sealed class LogTallyTests : IDisposable
{
    private const int FileHeaderBytes = 4096;
    private const int EntryBytes = 48 + 61;

    private readonly string _directory = Directory.CreateTempSubdirectory("equeue-tally-").FullName;

    public LogTallyTests() => Directory.CreateDirectory(Path.Combine(_directory, "logs", "0"));

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void GivenEntriesOfMessagesAndOfState_WhenCounted_ThenOnlyMessagesDoUpToTheFirstThatIsNotWhole()
    {
        byte[] segment = new byte[FileHeaderBytes + (5 * EntryBytes)];
        WriteEntry(segment, number: 0, kind: 1, records: 3);
        WriteEntry(segment, number: 1, kind: 2, records: 50);
        WriteEntry(segment, number: 2, kind: 1, records: 4);
        Write(0, segment);
        Assert.Equal(7, LogTally.Count(_directory));

        Write(0, segment[..(FileHeaderBytes + (3 * EntryBytes) - 1)]);
        Assert.Equal(3, LogTally.Count(_directory));
    }

    [Fact]
    public void GivenWhatAnEarlierFileHeld_WhenItStandsBehindTheLog_ThenItDoesNotCount()
    {
        byte[] segment = new byte[FileHeaderBytes + (2 * EntryBytes)];
        WriteEntry(segment, number: 0, kind: 1, records: 3);
        WriteEntry(segment, number: 1, kind: 1, records: 4);
        BinaryPrimitives.WriteInt64LittleEndian(segment.AsSpan(FileHeaderBytes + EntryBytes + 8), 1 << 20);
        Write(0, segment);

        Assert.Equal(3, LogTally.Count(_directory));
    }

    [Fact]
    public void GivenALogWhoseFirstSegmentIsGone_WhenCounted_ThenNobodyKnows()
    {
        Write(EntryBytes, new byte[FileHeaderBytes]);

        Assert.Null(LogTally.Count(_directory));
    }

    [Fact]
    public void GivenSegments_WhenShortened_ThenTheLastBatchIsMissed()
    {
        byte[] first = new byte[FileHeaderBytes + EntryBytes];
        WriteEntry(first, number: 0, kind: 1, records: 3);
        byte[] second = new byte[FileHeaderBytes + EntryBytes];
        WriteEntry(second, number: 0, kind: 1, records: 4, basePosition: EntryBytes);
        Write(0, first);
        Write(EntryBytes, second);
        Write(2 * EntryBytes, new byte[FileHeaderBytes]);
        Assert.Equal(7, LogTally.Count(_directory));

        LogTally.Shorten(_directory);

        Assert.Equal(3, LogTally.Count(_directory));
    }

    private void Write(long position, byte[] segment) =>
        File.WriteAllBytes(Path.Combine(_directory, "logs", "0", $"{position:D20}.log"), segment);

    private static void WriteEntry(byte[] segment, int number, byte kind, int records, long basePosition = 0)
    {
        Span<byte> entry = segment.AsSpan(FileHeaderBytes + (number * EntryBytes), EntryBytes);
        BinaryPrimitives.WriteInt32LittleEndian(entry, EntryBytes);
        BinaryPrimitives.WriteInt64LittleEndian(entry[8..], basePosition + (number * EntryBytes));
        entry[32] = kind;
        entry[33] = 48;
        BinaryPrimitives.WriteInt32BigEndian(entry[(48 + 57)..], records);
    }
}
