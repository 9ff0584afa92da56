namespace EQueue.Remoting;

/// <summary>Flags of a frame. The low byte may be ignored by a reader; an unknown bit of the high byte is
/// refused.</summary>
[Flags]
public enum FrameFlags : ushort
{
    /// <summary>A request that expects an answer.</summary>
    None = 0,

    /// <summary>The answer to the request with the same correlation id.</summary>
    Response = 1,

    /// <summary>A request that gets no answer.</summary>
    Oneway = 2,

    /// <summary>An answer that was held back, or that asks the peer to slow down.</summary>
    Throttled = 4,

    /// <summary>Means what the operation says; the transport passes it through.</summary>
    Marked = 8,

    /// <summary>A request: it takes several answers. An answer: another one to the same request follows.</summary>
    More = 16,
}
