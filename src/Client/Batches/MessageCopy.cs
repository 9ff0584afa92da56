namespace EQueue.Client;

/// <summary>A message with memory of its own, one array, for a send that must wait before it can be encoded.</summary>
internal readonly struct MessageCopy
{
    private const int Absent = -1;

    private readonly byte[] _bytes;
    private readonly int _keyLength;
    private readonly int _tagLength;
    private readonly bool _hasBody;
    private readonly RecordProperties? _properties;

    public MessageCopy(scoped in RecordContent content)
    {
        _keyLength = LengthOf(content.Key);
        _tagLength = LengthOf(content.Tag);
        _hasBody = content.Body.HasValue;
        _properties = PropertiesOf(content);
        int tagAt = Math.Max(_keyLength, 0);
        int bodyAt = tagAt + Math.Max(_tagLength, 0);
        _bytes = new byte[bodyAt + content.Body.Value.Length];
        content.Key.Value.CopyTo(_bytes);
        content.Tag.Value.CopyTo(_bytes.AsSpan(tagAt));
        content.Body.Value.CopyTo(_bytes.AsSpan(bodyAt));
    }

    public RecordContent Content
    {
        get
        {
            int tagAt = Math.Max(_keyLength, 0);
            int bodyAt = tagAt + Math.Max(_tagLength, 0);
            return new RecordContent
            {
                Key = _keyLength == Absent ? default : new OptionalBytes(_bytes.AsSpan(0, _keyLength)),
                Tag = _tagLength == Absent ? default : new OptionalBytes(_bytes.AsSpan(tagAt, _tagLength)),
                Body = _hasBody ? new OptionalBytes(_bytes.AsSpan(bodyAt)) : default,
                Properties = _properties,
            };
        }
    }

    /// <summary>A message that waits is encoded on another thread: its sender's trace is taken now.</summary>
    private static RecordProperties? PropertiesOf(scoped in RecordContent content)
    {
        if (!ClientTrace.IsListenedTo || TraceStamp.Sampled is not { } activity
            || MessageTrace.TryRead(content.Properties, out _))
        {
            return content.Properties?.Copy();
        }

        return TraceStamp.Stamp(content.Properties, activity).Copy();
    }

    private static int LengthOf(scoped OptionalBytes bytes) => bytes.HasValue ? bytes.Value.Length : Absent;
}
