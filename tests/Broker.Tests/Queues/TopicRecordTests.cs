using EQueue.MessageStore;

namespace EQueue.Broker.Tests.Queues;

/// <summary>A topic's state record, in both layouts.</summary>
public sealed class TopicRecordTests
{
    private const string Head = "01234567-89ab-cdef-0123-456789abcdef";
    private const string BytesWithoutVersion = "0123456789abcdef0123456789abcdef" + "0700000000000000" + "01000000" + "04000000";

    private static readonly TopicRecord All = new(
        "t", new TopicId(Guid.Parse(Head)), 7, new TopicSettings { QueueCount = 4 });

    [Fact]
    public void GivenATopicWhoseQueuesAreAllOpen_WhenWritten_ThenItIsTheLayoutThatOlderVersionsRead() =>
        Holds(All, "00" + BytesWithoutVersion);

    [Fact]
    public void GivenQueuesThatAreNotOpen_WhenWritten_ThenTheBytesAreThose() => Holds(
        All.With([3], QueueState.Writable, QueueState.None)
            .With([1], QueueState.Writable | QueueState.Readable, QueueState.None)
            .With([0, 2], QueueState.Readable, QueueState.None)
            .With([2], QueueState.Readable, QueueState.Readable),
        "01" + BytesWithoutVersion + "03000000" + "0000000001" + "0100000000" + "0300000002");

    [Fact]
    public void GivenQueuesThatAreOpenedAgain_WhenWritten_ThenItIsTheOldLayoutAgain() => Holds(
        All.With([0, 1], QueueState.Writable, QueueState.None).With([0, 1], QueueState.Writable, QueueState.Writable),
        "00" + BytesWithoutVersion);

    [Theory]
    [InlineData("02" + BytesWithoutVersion)]
    [InlineData("00" + BytesWithoutVersion + "00")]
    [InlineData("01" + BytesWithoutVersion + "01000000")]
    [InlineData("01" + BytesWithoutVersion + "ffffff7f" + "0000000001")]
    [InlineData("01" + BytesWithoutVersion + "01000000" + "0000000003")]
    [InlineData("01" + BytesWithoutVersion + "01000000" + "ffffffff01")]
    public void GivenBytesThatAreNoRecord_WhenRead_ThenTheyAreRefused(string bytes) =>
        Assert.Throws<InvalidDataException>(() => Read(bytes));

    private static void Holds(TopicRecord record, string bytes)
    {
        Assert.Equal(bytes, Convert.ToHexStringLower(record.ToEntry().Value!.Value.Span));
        TopicRecord read = Read(bytes);
        Assert.Equal(
            (record.Name, record.Id, record.CreatedMs, record.Settings),
            (read.Name, read.Id, read.CreatedMs, read.Settings));
        Assert.Equal(record.Limited, read.Limited);
    }

    private static TopicRecord Read(string bytes) =>
        TopicRecord.Read(new StateEntry(TopicRecord.Kind, "t"u8.ToArray(), Convert.FromHexString(bytes)).AsRecord());
}
