namespace EQueue.Cluster;

/// <summary>A node cannot be part of its cluster; the message says why and what to do.</summary>
public sealed class ClusterException : Exception
{
    /// <summary>Creates one.</summary>
    public ClusterException(string message, Exception? inner = null)
        : base(message, inner)
    {
    }

    internal static ClusterException NameTaken(string node) =>
        new($"Another process runs as node {node} of this cluster.");
}
