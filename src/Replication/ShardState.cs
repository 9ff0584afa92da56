namespace EQueue.Replication;

/// <summary>Who leads a shard, in which epoch, and which copies count: the value of the key <c>state</c> in
/// etcd.</summary>
/// <param name="Epoch">Rises with each leader; 0 before the first.</param>
/// <param name="Leader">The life that leads in this epoch; it may be dead. None before the first, and in an epoch that
/// a person made.</param>
/// <param name="Seats">Who must have an entry before it is committed; at least one once there is an epoch.</param>
/// <param name="Min">The set does not shrink below this many seats.</param>
/// <param name="Nonce">Tells this epoch from another one of the same number.</param>
public sealed record ShardState(int Epoch, Seat Leader, IReadOnlyList<Seat> Seats, int Min, Nonce Nonce)
{
    /// <summary>Whether this life of this node holds a seat.</summary>
    public bool Has(Seat seat) => Seats.Contains(seat);

    /// <summary>The seat of a node, whichever life holds it.</summary>
    public Seat? SeatOf(string node)
    {
        foreach (Seat seat in Seats)
        {
            if (seat.Node == node)
                return seat;
        }

        return null;
    }

    /// <summary>The same epoch with other seats; two seats raise the least number from one to two.</summary>
    public ShardState With(IReadOnlyList<Seat> seats)
        => this with { Seats = seats, Min = seats.Count >= 2 ? Math.Max(Min, 2) : Min };

    /// <inheritdoc/>
    public bool Equals(ShardState? other)
        => other is not null && Epoch == other.Epoch && Leader == other.Leader && Min == other.Min
            && Nonce == other.Nonce && Seats.SequenceEqual(other.Seats);

    /// <inheritdoc/>
    public override int GetHashCode() => HashCode.Combine(Epoch, Leader, Min, Nonce);
}
