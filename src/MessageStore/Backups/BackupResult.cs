using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>A finished backup, restore or check of a backup.</summary>
/// <param name="StoreId">Whose.</param>
/// <param name="Time">When the backup began: everything acknowledged before is in it.</param>
/// <param name="FilesCopied">Files that were copied, or checked.</param>
/// <param name="BytesCopied">Bytes in them.</param>
/// <param name="FilesPresent">Files that the folder had already.</param>
/// <param name="BytesPresent">Bytes in them.</param>
/// <param name="FirstPosition">Where the log in the backup begins.</param>
/// <param name="EndPosition">The point: where it ends.</param>
public sealed record BackupResult(
    Guid StoreId,
    DateTimeOffset Time,
    long FilesCopied,
    long BytesCopied,
    long FilesPresent,
    long BytesPresent,
    LogPosition FirstPosition,
    LogPosition EndPosition);
