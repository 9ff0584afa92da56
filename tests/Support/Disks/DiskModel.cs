namespace EQueue.Support;

/// <summary>Names and files of a simulated disk, changed by operations one after another. Not thread-safe.</summary>
internal sealed class DiskModel
{
    private readonly Dictionary<string, int> _names = [];
    private readonly Dictionary<string, int> _durableNames = [];
    private readonly List<DiskOperation> _pendingNames = [];
    private readonly Dictionary<int, SimulatedFile> _files = [];
    private readonly HashSet<string> _directories = [];

    /// <summary>The number that the next file gets.</summary>
    public int NextFile { get; private set; }

    public IReadOnlyDictionary<string, int> Names => _names;

    public SimulatedFile File(int file) => _files[file];

    public bool HasDirectory(string path) => _directories.Contains(path);

    public void Apply(DiskOperation operation)
    {
        switch (operation.Kind)
        {
            case DiskOperationKind.Create:
                _files.Add(operation.File, new SimulatedFile());
                NextFile = Math.Max(NextFile, operation.File + 1);
                ApplyName(_names, operation);
                _pendingNames.Add(operation);
                break;
            case DiskOperationKind.Write:
                _files[operation.File].Write(operation.Offset, operation.Bytes!);
                break;
            case DiskOperationKind.SetLength:
                _files[operation.File].SetLength(operation.Offset);
                break;
            case DiskOperationKind.SyncFile:
                _files[operation.File].Sync();
                break;
            case DiskOperationKind.Rename:
            case DiskOperationKind.Delete:
                ApplyName(_names, operation);
                _pendingNames.Add(operation);
                break;
            case DiskOperationKind.SyncDirectory:
                SyncNames(operation.Path);
                break;
            default:
                for (string? path = operation.Path; path is not null && _directories.Add(path);)
                    path = Path.GetDirectoryName(path);
                break;
        }
    }

    /// <summary>The disk after the death of the process: all that was written.</summary>
    public DiskModel Killed()
    {
        var left = new DiskModel { NextFile = NextFile };
        left._directories.UnionWith(_directories);
        foreach ((string name, int file) in _names)
            left.Add(name, file, _files[file].Killed());
        return left;
    }

    /// <summary>A disk that the power cut may have left.</summary>
    public DiskModel AfterPowerCut(Random random, PowerCutStyle style)
    {
        var names = new Dictionary<string, int>(_durableNames);
        int kept = style == PowerCutStyle.Prefix ? random.Next(_pendingNames.Count + 1) : _pendingNames.Count;
        for (int i = 0; i < kept && style != PowerCutStyle.NothingUnsynced; i++)
        {
            if (style != PowerCutStyle.Subset || random.Next(2) == 0)
                ApplyName(names, _pendingNames[i]);
        }

        var left = new DiskModel { NextFile = NextFile };
        left._directories.UnionWith(_directories);
        foreach ((string name, int file) in names)
            left.Add(name, file, _files[file].AfterPowerCut(random, style));
        return left;
    }

    private static void ApplyName(Dictionary<string, int> names, DiskOperation operation)
    {
        switch (operation.Kind)
        {
            case DiskOperationKind.Create:
                names[operation.Path] = operation.File;
                break;
            case DiskOperationKind.Rename:
                // A file has one name: wherever it is now, it goes from there.
                foreach ((string old, int _) in names.Where(pair => pair.Value == operation.File).ToArray())
                    names.Remove(old);
                names[operation.Target] = operation.File;
                break;
            default:
                if (names.TryGetValue(operation.Path, out int file) && file == operation.File)
                    names.Remove(operation.Path);
                break;
        }
    }

    private void SyncNames(string directory)
    {
        for (int i = 0; i < _pendingNames.Count;)
        {
            if (Path.GetDirectoryName(_pendingNames[i].Path) != directory)
            {
                i++;
                continue;
            }

            ApplyName(_durableNames, _pendingNames[i]);
            _pendingNames.RemoveAt(i);
        }
    }

    private void Add(string name, int number, SimulatedFile file)
    {
        _names[name] = number;
        _durableNames[name] = number;
        _files.TryAdd(number, file);
    }
}
