namespace EQueue.Support;

/// <summary>How much of what was not synced a power cut leaves.</summary>
public enum PowerCutStyle
{
    /// <summary>Only what was synced.</summary>
    NothingUnsynced,

    /// <summary>All of it, as if the system had just written everything back.</summary>
    Everything,

    /// <summary>The writes in their order up to one that is torn at any byte.</summary>
    Prefix,

    /// <summary>Any of the writes, in parts of any bytes or of 512-byte sectors.</summary>
    Subset,
}
