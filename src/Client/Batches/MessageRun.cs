using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Neighbours of one call that go to one queue, all with keys or all without: one batch takes them
/// together.</summary>
internal readonly ref struct MessageRun
{
    /// <summary>The most bytes of a record beside its parts: lengths, deltas, the name of the tag.</summary>
    private const int MostBesideParts = 40;

    private const int MostBytesOfChar = 3;

    public MessageRun(ReadOnlySpan<Message> messages)
    {
        Messages = messages;
        long most = 0;
        foreach (ref readonly Message message in messages)
        {
            most += MostBesideParts + message.Body.GetValueOrDefault().Length;
            if (!message.IsPlain())
                most += MostBytesOf(message);
        }

        MostBytes = most;
    }

    public ReadOnlySpan<Message> Messages { get; }

    public int Count => Messages.Length;

    public bool HasKeys => Messages[0].Key is not null;

    /// <summary>The most that they take in a batch that is not traced; counted without encoding anything.</summary>
    public long MostBytes { get; }

    /// <summary>The first messages of the run.</summary>
    public MessageRun First(int count) => count == Count ? this : new MessageRun(Messages[..count]);

    /// <summary>Counts the first messages whose records fit into so many bytes, in a batch that has some.</summary>
    /// <param name="recordCount">Records in front of them.</param>
    /// <param name="room">Bytes.</param>
    /// <param name="isTraced">Whether they get the context of the sender's activity.</param>
    /// <param name="size">Bytes of those that were counted.</param>
    public int CountWithin(int recordCount, long room, bool isTraced, out long size)
    {
        int stamp = isTraced && TraceStamp.Sampled is { } activity ? TraceStamp.MostBytes(activity) : 0;
        size = 0;
        for (int i = 0; i < Messages.Length; i++)
        {
            long more = stamp + SizeOf(Messages[i], recordCount + i);
            if (size + more > room)
                return i;
            size += more;
        }

        return Messages.Length;
    }

    private static long SizeOf(in Message message, int offsetDelta)
    {
        Span<byte> room = stackalloc byte[MessageEncoder.TextBytes];
        return RecordBatchBuilder.SizeOf(MessageEncoder.Encode(message, room), offsetDelta, 0);
    }

    private static long MostBytesOf(in Message message) =>
        (MostBytesOfChar * ((long)(message.Key?.Length ?? 0) + (message.Tag?.Length ?? 0)))
        + (message.Properties is { } properties
            ? RecordBatchBuilder.SizeOf(new RecordContent { Properties = properties }, 0, 0) : 0);
}
