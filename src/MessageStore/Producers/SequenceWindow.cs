using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>A batch that a producer stored in a queue.</summary>
/// <param name="BaseSequence">Sequence of its first record.</param>
/// <param name="LastSequence">Sequence of its last record.</param>
/// <param name="FirstOffset">Offset of its first record.</param>
/// <param name="EndPosition">Position after its entry.</param>
/// <param name="StoredTimeMs">Unix milliseconds.</param>
/// <param name="Crc">The batch's own CRC: the same sequences with other bytes are another batch. Null: of a snapshot
/// that did not say.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct SequencedBatch(
    int BaseSequence, int LastSequence, long FirstOffset, long EndPosition, long StoredTimeMs, uint? Crc = null);

/// <summary>The last 16 batches of one producer in one queue. Sequences run from 0 to 2^31-1 and start over.</summary>
internal sealed class SequenceWindow
{
    /// <summary>Batches remembered; a producer may have so many in flight per queue.</summary>
    public const int Size = 16;

    private readonly SequencedBatch[] _batches = new SequencedBatch[Size];
    private int _count;
    private int _newest = -1;

    /// <summary>Batches held.</summary>
    public int Count => _count;

    /// <summary>The position after the newest batch: what replay skips up to; 0 when empty.</summary>
    public long AppliedPosition => _count == 0 ? 0 : _batches[_newest].EndPosition;

    /// <summary>The newest batch's stored time; 0 when empty.</summary>
    public long LastStoredTimeMs => _count == 0 ? 0 : _batches[_newest].StoredTimeMs;

    /// <summary>The sequence that the next batch must begin with.</summary>
    public int NextSequence => _count == 0 ? 0 : Follow(_batches[_newest].LastSequence, 1);

    /// <summary>The i-th batch, 0 = the oldest held.</summary>
    public SequencedBatch this[int index] => _batches[(_newest - _count + 1 + index + Size) % Size];

    /// <summary>The sequence <paramref name="steps"/> records after another.</summary>
    public static int Follow(int sequence, int steps) => (int)(((long)sequence + steps) & int.MaxValue);

    /// <summary>Adds the newest batch; the oldest leaves a full window.</summary>
    public void Add(in SequencedBatch batch)
    {
        _newest = (_newest + 1) % Size;
        _batches[_newest] = batch;
        _count = Math.Min(_count + 1, Size);
    }

    /// <summary>Finds the batch with exactly these sequences.</summary>
    public bool TryFind(int baseSequence, int lastSequence, out SequencedBatch batch)
    {
        for (int i = 0; i < _count; i++)
        {
            batch = _batches[(_newest - i + Size) % Size];
            if (batch.BaseSequence == baseSequence && batch.LastSequence == lastSequence)
                return true;
        }
        batch = default;
        return false;
    }

    /// <summary>Says what the bytes of a batch in the window are; nothing when it is not there any more.</summary>
    public void SetCrc(long endPosition, uint crc)
    {
        for (int i = 0; i < _count; i++)
        {
            ref SequencedBatch batch = ref _batches[(_newest - i + Size) % Size];
            if (batch.EndPosition == endPosition)
                batch = batch with { Crc = crc };
        }
    }
}
