namespace EQueue.MessageStore;

/// <summary>What the header of one of the store's files says about the file.</summary>
internal enum FileVerdict
{
    /// <summary>Whole, and of a version that is understood.</summary>
    Valid,

    /// <summary>Nothing was ever written: all bytes are zero, or there are none.</summary>
    Empty,

    /// <summary>Another kind of file, too short, or its CRC does not match.</summary>
    Damaged,

    /// <summary>Whole, but of a version or with flags that this version must not touch.</summary>
    Refused,
}
