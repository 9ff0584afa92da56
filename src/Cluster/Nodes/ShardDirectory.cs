using System.Globalization;
using System.Security.Cryptography;
using EQueue.Cluster.Etcd;
using EQueue.MessageStore;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>The directory of a shard's copy on this node.</summary>
/// <param name="path">Where.</param>
/// <param name="store">How stores are kept here.</param>
/// <param name="cluster">Whose it must be.</param>
/// <param name="logger">For what is found.</param>
/// <param name="time">For the pace of notes.</param>
internal sealed class ShardDirectory(
    string path, StoreOptions store, ClusterRecord cluster, ILogger logger, TimeProvider time)
{
    /// <summary>Where a node's data directory has the shard's copy.</summary>
    public static string PathIn(string dataDirectory) => Path.Combine(dataDirectory, "shards", "0");

    /// <summary>16 random bytes.</summary>
    public static UInt128 NewLife()
    {
        Span<byte> bytes = stackalloc byte[16];
        RandomNumberGenerator.Fill(bytes);
        return System.Buffers.Binary.BinaryPrimitives.ReadUInt128LittleEndian(bytes);
    }

    /// <summary>Makes a node's data directory, unless it is there.</summary>
    /// <exception cref="StoreFormatException">It is a single broker's, or half a node's.</exception>
    /// <exception cref="DiskException">It cannot be made.</exception>
    public static void MakeRoot(StoreOptions store)
    {
        string root = Path.GetFullPath(store.DataDirectory);
        StoreMove.CheckNoStore(root, store.Disk);
        ReplicaFiles.MakeDirectory(ReplicaFilesOptions.Of(root, store));
    }

    /// <summary>Opens the directory; makes one that is not there, and one anew whose copying was not
    /// finished.</summary>
    /// <exception cref="ClusterException">It is another store's.</exception>
    /// <exception cref="DiskException">The disk failed, or another process has the directory open.</exception>
    public ReplicaFiles Open(CancellationToken cancellationToken)
    {
        var options = ReplicaFilesOptions.Of(path, store);
        if (!ReplicaFiles.Exists(options))
            ReplicaFiles.Create(options, cluster.StoreId, cluster.LogId, time);
        var files = ReplicaFiles.Open(options, logger, time, cancellationToken);
        if (files.StoreId != cluster.StoreId || files.LogId != cluster.LogId)
        {
            Guid found = files.StoreId;
            files.Dispose();
            throw new ClusterException(
                $"{path} belongs to store {found}; the cluster's is {cluster.StoreId}: set Server:DataDirectory to "
                + "the directory of this cluster's node, or to an empty one, into which the log is copied.");
        }

        if (!files.Note.IsCopying)
            return files;
        files.Dispose();
        Delete();
        ReplicaFiles.Create(options, cluster.StoreId, cluster.LogId, time);
        return ReplicaFiles.Open(options, logger, time, cancellationToken);
    }

    /// <summary>Whether a directory has never been a replica's and holds nothing.</summary>
    public static bool IsNew(ReplicaFiles files) => files.Tail.End.Value == 0 && files.Note.Record.IsEmpty;

    /// <summary>Removes the directory.</summary>
    public void Delete()
    {
        if (Directory.Exists(path))
            Directory.Delete(path, recursive: true);
    }

    /// <summary>Gives the directory another name: nothing of it is used any more, nothing is destroyed.</summary>
    /// <returns>That name.</returns>
    public string SetAside()
    {
        string stamp = time.GetUtcNow().ToString("yyyyMMdd'T'HHmmss'Z'", CultureInfo.InvariantCulture);
        string aside = $"{path}.aside-{stamp}";
        for (int i = 1; Directory.Exists(aside); i++)
            aside = $"{path}.aside-{stamp}-{i}";
        Directory.Move(path, aside);
        return aside;
    }
}
