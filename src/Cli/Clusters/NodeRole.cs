namespace EQueue.Cli.Clusters;

/// <summary>What a node is in its cluster now.</summary>
internal enum NodeRole
{
    /// <summary>It leads, and holds a seat.</summary>
    Leader,

    /// <summary>It holds a seat: nothing is committed without it.</summary>
    Seat,

    /// <summary>A former process of it holds a seat, which the one that runs now has not taken over.</summary>
    FormerSeat,

    /// <summary>It has started and holds no seat.</summary>
    NoSeat,

    /// <summary>No process has run as this node.</summary>
    NeverStarted,
}
