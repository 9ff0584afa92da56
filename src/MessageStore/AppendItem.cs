using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>One batch of an append request and what became of it.</summary>
[StructLayout(LayoutKind.Auto)]
public struct AppendItem
{
    /// <summary>Where it goes.</summary>
    public QueueId Queue { get; set; }

    /// <summary>One encoded record batch, checked by the caller; lent until the call returns.</summary>
    public ReadOnlyMemory<byte> Batch { get; set; }

    /// <summary>The filter bits of the batch; all ones = unknown.</summary>
    public uint TagBits { get; set; }

    /// <summary>Answer: None and DuplicateSequence mean stored.</summary>
    public ErrorCode Error { get; set; }

    /// <summary>Answer: the first record's offset; of a duplicate: the original's.</summary>
    public QueueOffset FirstOffset { get; set; }

    /// <summary>Answer: Unix milliseconds.</summary>
    public long StoredTimeMs { get; set; }

    /// <summary>Answer: the epoch stamped.</summary>
    public int Epoch { get; set; }
}
