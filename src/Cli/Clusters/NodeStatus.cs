using System.Globalization;
using EQueue.Replication;

namespace EQueue.Cli.Clusters;

/// <summary>How a node of a cluster is.</summary>
/// <param name="Name">The node.</param>
/// <param name="Address">Where it was reached last; null when it never started.</param>
/// <param name="Life">The process that runs as this node, or ran last; null when none did.</param>
/// <param name="Role">What it is in the cluster.</param>
/// <param name="Answer">What it answers; null when it was not asked, having no address.</param>
internal sealed record NodeStatus(string Name, string? Address, Life? Life, NodeRole Role, NodeAnswer? Answer)
{
    /// <summary>Whether it answers.</summary>
    public bool IsThere => Answer?.Told is not null;

    /// <summary>Whether its present process holds a seat.</summary>
    public bool HasSeat => Role is NodeRole.Leader or NodeRole.Seat;

    /// <summary>The first digits of its life, which tell one start from another.</summary>
    public string? LifeText => Life is { } life ? life.Value.ToString("x32", CultureInfo.InvariantCulture)[..8] : null;
}
