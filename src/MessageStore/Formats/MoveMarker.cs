namespace EQueue.MessageStore;

/// <summary>The file <c>adopting</c>: a store is being moved out of this directory into that of a replica, and nothing
/// opens the directory before that has ended.</summary>
internal static class MoveMarker
{
    /// <summary>The file's name.</summary>
    public const string FileName = "adopting";

    /// <summary>The folder of a node's replicas in its data directory.</summary>
    public const string Shards = "shards";

    private const int MostBytes = 1 << 20;

    /// <summary>What the one who moves has noted; null when nothing is being moved.</summary>
    public static byte[]? Read(IDisk disk, string dataDirectory)
    {
        string path = PathOf(dataDirectory);
        return disk.Exists(path) ? WholeFile.Read(disk, path, MostBytes) : null;
    }

    /// <summary>Refuses a directory out of which a store is being moved.</summary>
    /// <exception cref="StoreFormatException">One is.</exception>
    public static void Check(IDisk disk, string dataDirectory)
    {
        if (disk.Exists(PathOf(dataDirectory)))
        {
            throw new StoreFormatException(
                PathOf(dataDirectory),
                "this directory is being made that of a cluster's node, and that has not ended: "
                + "run 'equeue cluster adopt' on it again, with the same options.");
        }
    }

    /// <summary>Refuses to make a new store in a directory that a node of a cluster has.</summary>
    /// <exception cref="StoreFormatException">One has.</exception>
    public static void CheckNew(IDisk disk, string dataDirectory)
    {
        string shards = Path.Combine(dataDirectory, Shards);
        if (disk.Exists(shards))
        {
            throw new StoreFormatException(
                shards,
                "this directory is that of a cluster's node, and its messages are there: start the server with its "
                + "Cluster:Node and Cluster:Etcd, or name another directory.");
        }
    }

    /// <summary>Leaves the marker, durably.</summary>
    public static void Write(IDisk disk, string dataDirectory, ReadOnlySpan<byte> note) =>
        WholeFile.Write(disk, PathOf(dataDirectory), note);

    /// <summary>Removes it, durably.</summary>
    public static void Remove(IDisk disk, string dataDirectory)
    {
        disk.Delete(PathOf(dataDirectory));
        disk.SyncDirectory(dataDirectory);
    }

    private static string PathOf(string dataDirectory) => Path.Combine(dataDirectory, FileName);
}
