namespace EQueue.Protocol;

/// <summary>The bits of <see cref="HelloRequest.Features"/> and <see cref="HelloResponse.Features"/>.</summary>
public static class HelloFeatures
{
    /// <summary>Of a request: the client follows a cluster's leader. Of an answer: the broker is a node of a cluster,
    /// and its <see cref="HelloResponse.Incarnation"/> is the epoch that it leads.</summary>
    public const ulong Cluster = 1;
}
