using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>A fetch answer under construction. Used again by its session.</summary>
internal sealed class FetchAnswer
{
    /// <summary>Owned until it is sent; null afterwards.</summary>
    public FrameBuffer? Frame { get; set; }

    /// <summary>Entry bytes that it may carry; a single larger entry is carried all the same.</summary>
    public int Limit { get; set; }

    public int EntryBytes { get; set; }

    public int QueueCount { get; set; }

    public int DiskReads { get; set; }

    /// <summary>Of the entry bytes, those that came from disk.</summary>
    public int ColdBytes { get; set; }

    /// <summary>Whether it has messages of a topic whose senders may wait for their commit.</summary>
    public bool IsBounded { get; set; }

    /// <summary>Reads that passed over as much as one may without giving anything.</summary>
    public int LongPasses { get; set; }

    /// <summary>Whether a queue has more that is visible than it was let give: waiting would not bring more.</summary>
    public bool IsCut { get; set; }

    public bool HasErrors { get; set; }

    /// <summary>Whether queues may rest for their topic's debt, and so be left out of it.</summary>
    public bool MayRest { get; set; }

    /// <summary>Whether the memory for answers is spent: a large entry waits.</summary>
    public bool IsTight { get; set; }

    /// <summary>Whether something was left out of it for want of memory.</summary>
    public bool LacksMemory { get; set; }

    /// <summary>Begins another one.</summary>
    public void Begin(FrameBuffer frame, int limit)
    {
        Frame = frame;
        Limit = limit;
        EntryBytes = QueueCount = DiskReads = ColdBytes = LongPasses = 0;
        IsBounded = IsCut = HasErrors = MayRest = IsTight = LacksMemory = false;
    }

    /// <summary>Lets go of a frame that was not sent.</summary>
    public void End()
    {
        Frame?.Dispose();
        Frame = null;
    }
}
