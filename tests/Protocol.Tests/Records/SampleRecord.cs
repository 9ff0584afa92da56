using System.Text;

namespace EQueue.Protocol.Tests.Records;

/// <summary>A record as tests write it down, with value equality by <see cref="ToString"/>.</summary>
internal sealed record SampleRecord(long TimestampMs, byte[]? Key, byte[]? Body)
{
    public string? Tag { get; init; }

    public List<(string Name, byte[]? Value)> Properties { get; init; } = [];

    public static SampleRecord Of(RecordView record)
    {
        var sample = new SampleRecord(
            record.TimestampMs,
            record.HasKey ? record.Key.ToArray() : null,
            record.HasBody ? record.Body.ToArray() : null)
        {
            Tag = record.HasTag ? Encoding.UTF8.GetString(record.Tag) : null,
        };
        foreach (RecordProperty property in record.Properties)
        {
            byte[]? value = property.Value.HasValue ? property.Value.Value.ToArray() : null;
            sample.Properties.Add((Encoding.UTF8.GetString(property.Name), value));
        }

        return sample;
    }

    public bool TryAppendTo(RecordBatchBuilder builder)
    {
        if (Key is null && Tag is null && Properties.Count == 0 && Body is not null)
            return builder.TryAppend(Body, TimestampMs);
        return builder.TryAppend(Content, TimestampMs);
    }

    public RecordContent Content
    {
        get
        {
            RecordProperties? properties = Properties.Count == 0 ? null : new RecordProperties();
            foreach ((string name, byte[]? value) in Properties)
                properties!.Add(name, value);
            return new RecordContent
            {
                Key = Key,
                Body = Body,
                Tag = Tag is null ? default : new OptionalBytes(Encoding.UTF8.GetBytes(Tag)),
                Properties = properties,
            };
        }
    }

    public override string ToString()
    {
        IEnumerable<string> properties = Properties.Select(p => $"{p.Name}={Text(p.Value)}");
        return $"{TimestampMs} {Text(Key)} {Text(Body)} {Tag ?? "-"} [{string.Join(' ', properties)}]";
    }

    private static string Text(byte[]? bytes) => bytes is null ? "-" : "x" + Convert.ToHexString(bytes);
}
