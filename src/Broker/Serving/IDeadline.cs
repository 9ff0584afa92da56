namespace EQueue.Broker;

/// <summary>Something that waits in a <see cref="DeadlineWheel{T}"/>.</summary>
internal interface IDeadline
{
    /// <summary>The wheel's own: where it stands there.</summary>
    DeadlinePlace Place { get; }
}

/// <summary>The links of one waiter; guarded by the wheel's lock.</summary>
internal sealed class DeadlinePlace
{
    public int Slot { get; set; } = -1;

    public long DueTick { get; set; }

    public IDeadline? Previous { get; set; }

    public IDeadline? Next { get; set; }
}
