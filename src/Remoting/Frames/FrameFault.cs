namespace EQueue.Remoting;

/// <summary>Why a frame header could not be read.</summary>
public enum FrameFault
{
    /// <summary>The header is good.</summary>
    None,

    /// <summary>Fewer bytes than a header; what is there is not wrong so far.</summary>
    Incomplete,

    /// <summary>The length is below the header's own size.</summary>
    TooShort,

    /// <summary>The length is above the agreed maximum.</summary>
    TooLong,

    /// <summary>A flag of the high byte is not known here.</summary>
    UnknownFlags,
}
