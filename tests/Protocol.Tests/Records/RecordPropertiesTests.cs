using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

public class RecordPropertiesTests
{
    [Fact]
    public void GivenTextBytesAndNull_WhenAddedAndRead_ThenTheyComeBackInOrder()
    {
        var properties = new RecordProperties();
        properties.Add("text", "grün");
        properties.Add("bytes", new byte[] { 0, 1 });
        properties.Add("null", default(string));
        properties.Add("text", "");

        Assert.Equal(4, properties.Count);
        Assert.Equal(
            ["text=x6772C3BC6E", "bytes=x0001", "null=-", "text=x"],
            RoundTrip(properties));
    }

    [Fact]
    public void GivenAListOfPairs_WhenAddedToAnother_ThenItStandsBehindAndIsFoundByName()
    {
        var other = new RecordProperties();
        other.Add("text", "second");
        other.Add("null", default(string));
        var properties = new RecordProperties();
        properties.Add("text", "first");
        properties.Add(other);
        properties.Add("last", "x");

        Assert.Equal(4, properties.Count);
        Assert.Equal(["text=x6669727374", "text=x7365636F6E64", "null=-", "last=x78"], RoundTrip(properties));
        Assert.True(properties.TryGet("text"u8, out OptionalBytes text));
        Assert.Equal("first"u8, text.Value);
        Assert.True(properties.TryGet("null"u8, out OptionalBytes nothing));
        Assert.False(nothing.HasValue);
        Assert.False(properties.TryGet("tex"u8, out _));
        Assert.False(new RecordProperties().TryGet("text"u8, out _));
    }

    [Fact]
    public void GivenPairsOfAReadMessage_WhenAddedToAnother_ThenTheyAreTheSameByteForByte()
    {
        var sent = new RecordProperties();
        sent.Add("grün", new byte[] { 0xFF, 0 });
        sent.Add("null", default(string));
        sent.Add("grün", "");
        byte[] buffer = new byte[1_000];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, BaseTimestampMs);
        Assert.True(builder.TryAppend(new RecordContent { Properties = sent }, BaseTimestampMs));
        int size = builder.Complete(ProducerSession.None, -1);

        var copied = new RecordProperties();
        var records = new RecordReader(buffer.AsSpan(0, size));
        Assert.True(records.TryRead(out RecordView record));
        foreach (RecordProperty property in record.Properties)
            copied.Add(property);

        Assert.Equal(3, copied.Count);
        Assert.Equal(["grün=xFF00", "null=-", "grün=x"], RoundTrip(copied));
    }

    [Fact]
    public void GivenUsedProperties_WhenCleared_ThenNothingOfTheLastMessageStays()
    {
        var properties = new RecordProperties();
        properties.Add("a", new string('x', 500));
        properties.Clear();
        Assert.Empty(RoundTrip(properties));
        properties.Add("b", "2");
        Assert.Equal(["b=x32"], RoundTrip(properties));
    }

    [Fact]
    public void GivenTheTagsName_WhenAdded_ThenItIsRefused() =>
        Assert.Throws<ArgumentException>(() => new RecordProperties().Add(RecordContent.TagHeaderName, "x"));

    [Fact]
    public void GivenNoName_WhenAdded_ThenItIsRefused()
    {
        Assert.Throws<ArgumentException>(() => new RecordProperties().Add("", "x"));
        Assert.Throws<ArgumentNullException>(() => new RecordProperties().Add(null!, "x"));
    }

    [Fact]
    public void GivenAThousandProperties_WhenRead_ThenAllAreThere()
    {
        var properties = new RecordProperties();
        for (int i = 0; i < 1_000; i++)
            properties.Add($"n{i}", $"{i}");
        Assert.Equal(1_000, RoundTrip(properties).Count);
    }

    private static List<string> RoundTrip(RecordProperties properties)
    {
        byte[] buffer = new byte[20_000];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, BaseTimestampMs);
        Assert.True(builder.TryAppend(new RecordContent { Tag = "t"u8, Properties = properties }, BaseTimestampMs));
        SampleRecord record = Assert.Single(Read(buffer.AsSpan(0, builder.Complete(ProducerSession.None, -1))));
        return [.. record.Properties.Select(p => $"{p.Name}={Text(p.Value)}")];
    }

    private static string Text(byte[]? value) => value is null ? "-" : "x" + Convert.ToHexString(value);
}
