using System.Collections.Concurrent;

namespace EQueue.Broker;

/// <summary>What the progress of groups takes in memory: of each group, and in all.</summary>
/// <remarks>Changed by the store alone, under the log's lock; read by everybody.</remarks>
internal sealed class ProgressUse
{
    /// <summary>An offset in the state and in its group, without its metadata.</summary>
    private const int OffsetBytes = 280;

    /// <summary>A string without its characters.</summary>
    private const int StringBytes = 24;

    private readonly ConcurrentDictionary<string, GroupUse> _groups = new();
    private long _bytes;

    /// <summary>Of all groups.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>What an offset takes; 0 for none. Its metadata is there twice: as the log has it, and as its group
    /// shows it.</summary>
    public static long SizeOf(in GroupOffsetKey key, GroupOffset? offset)
    {
        if (offset is null)
            return 0;
        long bytes = OffsetBytes;
        if (offset.Metadata is { } metadata)
            bytes += 2 * (StringBytes + (2L * metadata.Length));
        if (key.Group.Contains('/', StringComparison.Ordinal))
            bytes += StringBytes + (2L * key.Group.Length);
        return bytes;
    }

    /// <summary>Of one group, all instances of it included.</summary>
    public long BytesOf(string group) =>
        _groups.TryGetValue(group, out GroupUse? use) ? Volatile.Read(ref use.Bytes) : 0;

    /// <summary>The key with a name that all offsets of the group share.</summary>
    public GroupOffsetKey Share(in GroupOffsetKey key) =>
        _groups.TryGetValue(key.Group, out GroupUse? use) ? key with { Group = use.Name } : key;

    /// <summary>An offset has come, changed or gone.</summary>
    public void Change(in GroupOffsetKey key, GroupOffset? before, GroupOffset? after)
    {
        long bytes = SizeOf(key, after) - SizeOf(key, before);
        int count = (after is null ? 0 : 1) - (before is null ? 0 : 1);
        if (bytes == 0 && count == 0)
            return;
        ReadOnlySpan<char> name = key.Group;
        if (name.IndexOf('/') is >= 0 and var cut)
            name = name[..cut];
        ConcurrentDictionary<string, GroupUse>.AlternateLookup<ReadOnlySpan<char>> groups =
            _groups.GetAlternateLookup<ReadOnlySpan<char>>();
        if (!groups.TryGetValue(name, out GroupUse? use))
            groups[name] = use = new GroupUse(name.Length == key.Group.Length ? key.Group : name.ToString());
        Volatile.Write(ref use.Bytes, use.Bytes + bytes);
        use.Count += count;
        if (use.Count == 0)
            groups.TryRemove(name, out _);
        Interlocked.Add(ref _bytes, bytes);
    }

    private sealed class GroupUse(string name)
    {
        public long Bytes;

        public string Name { get; } = name;

        public int Count { get; set; }
    }
}
