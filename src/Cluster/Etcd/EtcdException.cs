namespace EQueue.Cluster.Etcd;

/// <summary>etcd gave no answer that can be used. What was to be written may have been written nevertheless.</summary>
public sealed class EtcdException : Exception
{
    /// <summary>Creates one.</summary>
    /// <param name="kind">What an operator or a caller can do about it.</param>
    /// <param name="message">The members and what each said, or the key and what is wrong with it.</param>
    /// <param name="inner">What it came from.</param>
    public EtcdException(EtcdTrouble kind, string message, Exception? inner = null)
        : base(message, inner) => Kind = kind;

    /// <summary>What an operator or a caller can do about it.</summary>
    public EtcdTrouble Kind { get; }

    /// <summary>Whether a new login may help: the token is unknown, too old, or missing.</summary>
    internal bool IsTokenRefused { get; init; }

    /// <summary>Whether etcd knows no users at all.</summary>
    internal bool HasNoUsers { get; init; }
}
