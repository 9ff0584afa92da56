namespace EQueue.Client;

/// <summary>A node of a cluster as the client knows it. Under the cluster's gate.</summary>
/// <param name="address">Where it listens.</param>
/// <param name="isGiven">Whether the application gave the address.</param>
internal sealed class ClusterNode(ServerAddress address, bool isGiven)
{
    public ServerAddress Address => address;

    /// <summary>Whether the application gave it.</summary>
    public bool IsGiven => isGiven;

    /// <summary>Whether it has ever answered.</summary>
    public bool WasReached { get; private set; }

    /// <summary>Whether the attempt at it that ended last was not answered.</summary>
    public bool IsAway { get; set; }

    /// <summary>What it said last, or why it could not be reached; null = it was not asked.</summary>
    public string? Said { get; set; }

    /// <summary>Since when it is left out, because it could not be reached; null = it is not.</summary>
    public long? AvoidedSince { get; set; }

    /// <summary>It has answered.</summary>
    public void Reach(string said)
    {
        WasReached = true;
        IsAway = false;
        AvoidedSince = null;
        Said = said;
    }
}
