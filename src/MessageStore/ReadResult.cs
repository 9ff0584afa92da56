namespace EQueue.MessageStore;

/// <summary>What a read gave besides the bytes.</summary>
/// <param name="Error">None; UnknownQueue; OffsetOutOfRange; DamagedData: NextOffset is where what can be read begins
/// again.</param>
/// <param name="Start">The queue's start offset.</param>
/// <param name="VisibleEnd">The offset after the last visible record.</param>
/// <param name="NextOffset">The offset to ask for next: behind what was given and what was passed over. Below
/// VisibleEnd although nothing was given: the read passed over as much as one may; there is more to look at.</param>
/// <param name="Size">Bytes given: whole entries, back to back.</param>
/// <param name="NeedsDisk">Nothing was given because it is no longer in memory: ask
/// <c>ReadFromDiskAsync</c> of <see cref="QueueStore"/> for what begins at NextOffset.</param>
public readonly record struct ReadResult(
    ErrorCode Error, QueueOffset Start, QueueOffset VisibleEnd, QueueOffset NextOffset, int Size, bool NeedsDisk);
