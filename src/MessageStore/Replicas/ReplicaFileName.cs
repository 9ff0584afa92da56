using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Which kind of file a replica's log may be copied by.</summary>
internal enum ReplicaFileKind
{
    Segment,
    Index,
    Snapshot,
    Pack,
    PackIndex,
}

/// <summary>What the name of a log's file says.</summary>
/// <param name="Kind">What it holds.</param>
/// <param name="From">The position in the name: where what it covers begins.</param>
internal readonly record struct ReplicaFileName(ReplicaFileKind Kind, LogPosition From)
{
    /// <summary>Reads a name without a folder; null when no file of a log is called so.</summary>
    public static ReplicaFileName? Parse(string name)
    {
        if (LogFiles.TryParse(name, LogFiles.SegmentSuffix, out LogPosition segment))
            return new ReplicaFileName(ReplicaFileKind.Segment, segment);
        if (LogFiles.TryParse(name, LogFiles.IndexSuffix, out LogPosition index))
            return new ReplicaFileName(ReplicaFileKind.Index, index);
        if (LogFiles.TryParse(name, LogFiles.SnapshotSuffix, out LogPosition snapshot))
            return new ReplicaFileName(ReplicaFileKind.Snapshot, snapshot);
        if (PackFile.TryParse(name, out LogPosition pack, out _))
            return new ReplicaFileName(ReplicaFileKind.Pack, pack);
        bool isPackIndex = name.EndsWith(PackFile.Suffix + LogFiles.IndexSuffix, StringComparison.Ordinal);
        return isPackIndex && PackFile.TryParse(name[..^LogFiles.IndexSuffix.Length], out LogPosition packed, out _)
            ? new ReplicaFileName(ReplicaFileKind.PackIndex, packed)
            : null;
    }
}
