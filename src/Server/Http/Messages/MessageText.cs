using System.Buffers;
using System.Text;

namespace EQueue.Server.Http;

/// <summary>Shows records to people: text where it is text, base64 where it is not.</summary>
internal static class MessageText
{
    /// <summary>Control characters, which JSON writes with six: text has less than one of them in so many.</summary>
    private const int LeastPerControl = 8;

    private static readonly SearchValues<byte> Controls =
        SearchValues.Create([.. Enumerable.Range(0, ' ').Except([9, 10, 13]).Select(static code => (byte)code)]);

    public static MessageBody ToBody(
        string topic, int queue, long offset, long storedMs, in RecordView record, bool isBase64)
    {
        (string? key, byte[]? keyBytes) = Show(record.Key, record.HasKey, isBase64);
        (string? body, byte[]? bodyBytes) = Show(record.Body, record.HasBody, isBase64);
        var properties = new List<PropertyBody>();
        foreach (RecordProperty property in record.Properties)
        {
            (string? value, byte[]? bytes) = Show(property.Value.Value, property.Value.HasValue, isBase64);
            (string? name, byte[]? nameBytes) = ShowName(property.Name);
            properties.Add(new PropertyBody(name, nameBytes, value, bytes));
        }

        (string? tag, byte[]? tagBytes) = record.HasTag ? ShowName(record.Tag) : (null, null);
        return new MessageBody(
            topic,
            queue,
            offset,
            key,
            keyBytes,
            tag,
            tagBytes,
            properties,
            body,
            bodyBytes,
            BodyTime.Of(record.TimestampMs),
            BodyTime.Of(storedMs));
    }

    private static (string? Text, byte[]? Bytes) Show(ReadOnlySpan<byte> bytes, bool hasValue, bool isBase64)
    {
        if (!hasValue)
            return (null, null);
        return isBase64 || IsMostlyControls(bytes) ? (null, bytes.ToArray()) : ShowName(bytes);
    }

    /// <summary>Tags and names are words: text whenever they are UTF-8.</summary>
    private static (string? Text, byte[]? Bytes) ShowName(ReadOnlySpan<byte> bytes) =>
        System.Text.Unicode.Utf8.IsValid(bytes) ? (Encoding.UTF8.GetString(bytes), null) : (null, bytes.ToArray());

    private static bool IsMostlyControls(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length <= LeastPerControl)
            return false;
        int left = bytes.Length / LeastPerControl;
        for (int at = bytes.IndexOfAny(Controls); at >= 0 && left >= 0; at = bytes.IndexOfAny(Controls))
        {
            left--;
            bytes = bytes[(at + 1)..];
        }

        return left < 0;
    }
}
