namespace EQueue.Cluster.Etcd;

/// <summary>What EQueue needs of etcd: read a range of keys, and change keys when others are as expected.</summary>
/// <remarks>Thread-safe. All failures are <see cref="EtcdException"/>; one of them never proves that nothing was
/// written.</remarks>
public interface IEtcd : IAsyncDisposable
{
    /// <summary>Reads keys, all of one revision; linearizable.</summary>
    /// <param name="keys">Which.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EtcdException">No answer that can be used.</exception>
    Task<EtcdRange> RangeAsync(EtcdKeys keys, CancellationToken cancellationToken);

    /// <summary>Does one list of operations or the other, as a whole, in order.</summary>
    /// <param name="compares">What must hold, all of it, for <paramref name="success"/>.</param>
    /// <param name="success">Done when all holds; a range sees the puts before it.</param>
    /// <param name="failure">Done otherwise.</param>
    /// <param name="cancellationToken">Gives up; the transaction may happen nevertheless.</param>
    /// <exception cref="EtcdException">No answer that can be used; the transaction may have happened.</exception>
    Task<EtcdTransactionResult> TransactAsync(
        IReadOnlyList<EtcdCompare> compares,
        IReadOnlyList<EtcdOperation> success,
        IReadOnlyList<EtcdOperation> failure,
        CancellationToken cancellationToken);
}
