using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Files copied from another replica.</content>
public sealed partial class ReplicaFiles
{
    /// <summary>Begins to copy a file.</summary>
    /// <param name="name">As the other replica calls it: <c>*.log</c>, <c>*.index</c>, <c>*.state</c>,
    /// <c>*.pack</c>, <c>*.pack.index</c>.</param>
    /// <exception cref="ReplicaException">No such file belongs to a log.</exception>
    public ReplicaCopy BeginCopy(string name) => _copies.BeginCopy(name);

    /// <summary>Has the log of a newcomer begin where its leader's does, when the leader has no older file to
    /// copy.</summary>
    /// <param name="begin">The base position of a segment of the leader.</param>
    /// <exception cref="ReplicaException">The directory is not being copied, or has entries.</exception>
    public void BeginAt(LogPosition begin) => _copies.BeginAt(begin);

    /// <summary>Begins the time in which the directory is filled with a leader's files and is no log; durable when it
    /// returns.</summary>
    public void BeginCopying() => _copies.BeginCopying();

    /// <summary>Makes a log of what was copied: from now on it is appended to. It stays marked as being copied, and is
    /// worth nothing after a restart, until it has what the newest copied snapshot was taken of.</summary>
    /// <param name="begin">The leader's begin.</param>
    /// <returns>What is missing for that; null when nothing is.</returns>
    public string? EndCopying(LogPosition begin) => _copies.EndCopying(begin);

    /// <summary>The files of the log that another replica may copy: sealed segments, packs, indexes,
    /// snapshots.</summary>
    /// <param name="settled">Only what ends at or below it: committed, and durable here.</param>
    public IReadOnlyList<(string Name, long Length)> ListFiles(LogPosition settled) => _copies.ListFiles(settled);

    /// <summary>Removes segments and packs that end at or below a position, with their indexes: the leader has none of
    /// them any more. What lies above the newest snapshot here stays: the state is replayed from it.</summary>
    /// <param name="begin">The leader's begin.</param>
    /// <param name="committed">What is known to be committed.</param>
    /// <exception cref="ReplicaException">More would go than is committed and durable here.</exception>
    public void RemoveBelow(LogPosition begin, LogPosition committed) => _copies.RemoveBelow(begin, committed);

    /// <summary>Whether there is a file of this name.</summary>
    /// <exception cref="ReplicaException">No such file belongs to a log.</exception>
    public bool HasFile(string name) => _copies.HasFile(name);

    /// <summary>Whether a directory that is being copied lacks a file: none of this name is there, and it is no segment
    /// of what is there already.</summary>
    public bool Needs(string name) => _copies.Needs(name);

    /// <summary>Whether a replica that follows copies a file of its leader's: it is not here, does not come with the
    /// log itself, and is no index of a segment or a pack that is not here.</summary>
    public bool Follows(string name) => _copies.Follows(name);

    /// <summary>Whether a file has entries, and cannot be made anew.</summary>
    public static bool IsPiece(string name) =>
        ReplicaFileName.Parse(name) is { Kind: ReplicaFileKind.Segment or ReplicaFileKind.Pack };

    /// <summary>Whether a file is a snapshot: those come first, for packs have nothing of the state.</summary>
    public static bool IsSnapshot(string name) =>
        ReplicaFileName.Parse(name) is { Kind: ReplicaFileKind.Snapshot };
}
