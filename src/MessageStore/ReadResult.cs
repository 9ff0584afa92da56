using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>What a read gave besides the bytes.</summary>
/// <param name="Error">None; UnknownQueue; OffsetOutOfRange; DamagedData: NextOffset is where what can be read begins
/// again.</param>
/// <param name="Start">The queue's start offset.</param>
/// <param name="VisibleEnd">The offset after the last visible record.</param>
/// <param name="NextOffset">The offset to ask for next.</param>
/// <param name="Size">Bytes given: whole entries, back to back.</param>
/// <param name="NeedsDisk">Nothing was given because it is no longer in memory: ask
/// <see cref="QueueStore.ReadFromDiskAsync"/>.</param>
public readonly record struct ReadResult(
    ErrorCode Error, QueueOffset Start, QueueOffset VisibleEnd, QueueOffset NextOffset, int Size, bool NeedsDisk);
