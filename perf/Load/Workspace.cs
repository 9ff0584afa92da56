using System.Globalization;
using Microsoft.Win32.SafeHandles;

namespace EQueue.Load;

/// <summary>
/// The directory that a run writes into: made when first asked for, removed at the end. Nothing outside it is touched.
/// </summary>
internal sealed class Workspace : IDisposable
{
    /// <summary>Free bytes that a run must find on the disk.</summary>
    private const long MinFreeBytes = 4L << 30;

    private readonly string _root;
    private readonly string? _parent;
    private bool _madeParent;
    private bool _made;
    private int _count;

    /// <param name="parent">Where to make the directory; null: beside the caller, named <c>data-load-PID</c>.</param>
    public Workspace(string? parent)
    {
        string pid = Environment.ProcessId.ToString(CultureInfo.InvariantCulture);
        _parent = parent is null ? null : Path.GetFullPath(parent);
        _root = _parent is null ? Path.GetFullPath($"data-load-{pid}") : Path.Combine(_parent, $"equeue-load-{pid}");
    }

    /// <summary>A path for a new file or directory of this run.</summary>
    /// <exception cref="LoadException">The directory is there already, or the disk is nearly full.</exception>
    public string NewPath(string name)
    {
        Make();
        return Path.Combine(_root, $"{name}-{++_count}");
    }

    /// <summary>Removes a path that <see cref="NewPath"/> gave out, so that the next run finds room.</summary>
    public static void Remove(string path)
    {
        if (Directory.Exists(path))
            Directory.Delete(path, recursive: true);
        else if (File.Exists(path))
            File.Delete(path);
    }

    /// <summary>
    /// Waits until the file system has worked off what was removed: a file made durable ends its open transaction.
    /// </summary>
    public void Settle()
    {
        string path = NewPath("settle");
        using (SafeFileHandle file = File.OpenHandle(path, FileMode.CreateNew, FileAccess.Write))
        {
            RandomAccess.Write(file, "x"u8, 0);
            RandomAccess.FlushToDisk(file);
        }

        Remove(path);
    }

    public void Dispose()
    {
        if (_made && Directory.Exists(_root))
            Directory.Delete(_root, recursive: true);
        if (_madeParent && !Directory.EnumerateFileSystemEntries(_parent!).Any())
            Directory.Delete(_parent!);
        _made = _madeParent = false;
    }

    private void Make()
    {
        if (!_made)
        {
            if (Path.Exists(_root))
                throw LoadException.Usage($"{_root} exists; name another directory with --data");
            _madeParent = _parent is not null && !Directory.Exists(_parent);
            Directory.CreateDirectory(_root);
            _made = true;
        }

        long freeBytes = new DriveInfo(_root).AvailableFreeSpace;
        if (freeBytes < MinFreeBytes)
        {
            throw LoadException.MachineLimit(
                "disk",
                $"{freeBytes / 1_000_000} MB free under {_root}, {MinFreeBytes / 1_000_000} MB needed");
        }
    }
}
