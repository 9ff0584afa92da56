using System.Globalization;

namespace EQueue.Broker;

/// <summary>What bounds the memory of this process.</summary>
/// <param name="MachineBytes">The machine's memory.</param>
/// <param name="ContainerBytes">What the process's control group, or one above it, may use; null = no bound.</param>
/// <param name="HeapBytes">What the garbage collector's heap may be: DOTNET_GCHeapHardLimit, or what it found itself.
/// </param>
internal readonly record struct MemoryFacts(long MachineBytes, long? ContainerBytes, long HeapBytes)
{
    /// <summary>Of a container or a machine, so much may be heap; the rest is for code, stacks and the
    /// system.</summary>
    private const double HeapPart = 0.75;

    /// <summary>What the heap may grow to.</summary>
    public long UsableBytes => Math.Min(
        HeapBytes, (long)(HeapPart * Math.Min(MachineBytes, ContainerBytes ?? long.MaxValue)));

    /// <summary>Looks at this process.</summary>
    /// <param name="root">Where <c>proc</c> and <c>sys</c> are.</param>
    public static MemoryFacts Read(string root = "/")
    {
        long heap = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        return new MemoryFacts(ReadMachine(root) ?? heap, ReadContainer(root), heap);
    }

    private static long? ReadMachine(string root)
    {
        const string Field = "MemTotal:";
        string? line = ReadLines(Path.Combine(root, "proc/meminfo"))
            .FirstOrDefault(one => one.StartsWith(Field, StringComparison.Ordinal));
        string? text = line?[Field.Length..].Replace("kB", "", StringComparison.Ordinal).Trim();
        return long.TryParse(text, out long kilobytes) ? kilobytes << 10 : null;
    }

    /// <summary>The least memory.max of the process's group and those above it (cgroup v2).</summary>
    private static long? ReadContainer(string root)
    {
        const string Unified = "0::";
        string? line = ReadLines(Path.Combine(root, "proc/self/cgroup"))
            .FirstOrDefault(one => one.StartsWith(Unified, StringComparison.Ordinal));
        if (line is null)
            return null;
        string top = Path.Combine(root, "sys/fs/cgroup");
        string? group = Path.Join(top, line[Unified.Length..]).TrimEnd('/');
        long? least = null;
        while (group is not null && group.StartsWith(top, StringComparison.Ordinal))
        {
            string text = ReadLines(Path.Combine(group, "memory.max")).FirstOrDefault("max");
            if (long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long bytes))
                least = Math.Min(least ?? bytes, bytes);
            group = Path.GetDirectoryName(group);
        }

        return least;
    }

    private static string[] ReadLines(string path)
    {
        try
        {
            return File.ReadAllLines(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // No such system, or nothing for this process to see.
            return [];
        }
    }
}
