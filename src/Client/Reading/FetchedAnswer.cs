using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>What one fetch brought: a lease on received memory and where each queue's entries are in it.</summary>
/// <remarks>
/// Filled on the receive loop, then owned by the reader, who releases it once. Pooled by its session.
/// </remarks>
internal sealed class FetchedAnswer(FetchSession session)
{
    private ResponseFrame _response;

    public FetchSession Session { get; } = session;

    public List<FetchedQueue> Queues { get; } = [];

    /// <summary>Bytes that count as fetched ahead.</summary>
    public int Size { get; private set; }

    /// <summary>Whether senders may wait for what is in it to be committed.</summary>
    public bool IsMarked { get; private set; }

    public void Fill(in ResponseFrame response)
    {
        IsMarked = response.Header.Flags.HasFlag(FrameFlags.Marked);
        _response = response;
        Size = response.Payload.Length;
    }

    /// <summary>Gives the memory back.</summary>
    public void Release()
    {
        _response.Dispose();
        _response = default;
        Queues.Clear();
    }
}

/// <summary>One queue's share of an answer.</summary>
/// <param name="Cursor">The queue.</param>
/// <param name="Version">The cursor's when the fetch left: an older one is dropped.</param>
/// <param name="Error">None, or why there are no entries.</param>
/// <param name="From">The offset that was asked for.</param>
/// <param name="Next">Everything before this offset is in the entries or of no interest.</param>
/// <param name="Entries">Whole entries, back to back.</param>
internal readonly record struct FetchedQueue(
    QueueCursor Cursor, int Version, ErrorCode Error, long From, long Next, ReadOnlyMemory<byte> Entries);
