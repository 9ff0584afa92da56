using System.Diagnostics;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>A segment file made ahead of need: room reserved, without header, position and final name.</summary>
internal sealed record PreparedFile(string Path, IDiskFile File, long Capacity);

/// <summary>The files of the log in the order of positions, those made ahead of need, and which of them appends and
/// the writer are in.</summary>
/// <remarks>
/// Owns that order and the wish for the next file. Everything is called under the log's lock, but for
/// <see cref="All"/> and <see cref="Writing"/>, which any thread reads.
/// </remarks>
/// <param name="options">Size and flush policy.</param>
/// <param name="directory">Where the files are.</param>
/// <param name="marks">How far the log has come.</param>
/// <param name="preparer">Makes the next file when it is wanted.</param>
internal sealed class SegmentChain(StoreOptions options, string directory, Watermarks marks, WorkSignal preparer)
{
    private readonly List<PreparedFile> _prepared = [];
    private Segment[] _all = [];
    private Segment? _active;
    private Segment? _writing;
    private int _wantedFiles;

    /// <summary>The preparer is woken when so much is staged.</summary>
    private long _preparerDueAt;

    /// <summary>Whether the active segment should end for its age.</summary>
    private bool _isActiveOld;

    /// <summary>The files in the order of positions; the last takes the appends.</summary>
    public Segment[] All => Volatile.Read(ref _all);

    /// <summary>The one that takes the appends.</summary>
    public Segment Active => _active!;

    /// <summary>The one that the writer is in; it alone moves it. Null before the first.</summary>
    public Segment? Writing
    {
        get => Volatile.Read(ref _writing);
        set => Volatile.Write(ref _writing, value);
    }

    /// <summary>The files made ahead.</summary>
    public IReadOnlyList<PreparedFile> Prepared => _prepared;

    /// <summary>Whether the files that appends wait for are there.</summary>
    public bool HasWantedFiles => _prepared.Count >= _wantedFiles;

    /// <summary>Whether the next file is to be made.</summary>
    public bool IsFileWanted
    {
        get
        {
            bool isDue = _isActiveOld || marks.Staged >= PrepareAt(Active);
            return _prepared.Count < Math.Max(_wantedFiles, isDue ? 1 : 0);
        }
    }

    /// <summary>Whether appends wait for the next file or soon will.</summary>
    public bool IsFileUrgent => _wantedFiles > 0 || (_active is { } active && UrgentAt(active) < marks.Staged);

    /// <summary>Bytes of entries that the last file holds, those made ahead included.</summary>
    public long LastCapacity => _prepared.Count > 0 ? _prepared[^1].Capacity : Active.Capacity;

    private long Room => Active.BasePosition + Active.Capacity - marks.Staged;

    /// <summary>Begins with the segments that recovery found; the last takes the appends unless it is sealed.</summary>
    /// <returns>False when none takes appends: <see cref="AddFirst"/> is to follow.</returns>
    public bool TryBegin(IReadOnlyList<Segment> found)
    {
        _all = [.. found];
        if (_all.Length == 0 || _all[^1].IsSealed)
            return false;
        Begin(_all[^1]);
        return true;
    }

    /// <summary>Begins with one more segment, of a new file.</summary>
    public void AddFirst(PreparedFile file, long position, long nowMs)
    {
        Segment segment = Make(file, position, nowMs);
        if (_all.Length > 0)
            _all[^1].Next = segment;
        _all = [.. _all, segment];
        Begin(segment);
    }

    /// <summary>A file was made ahead.</summary>
    public void Add(PreparedFile file) => _prepared.Add(file);

    /// <summary>Whether so many bytes and the seal behind them fit into the active segment.</summary>
    public bool Fits(long size) => size + EntryHeader.Length <= Room;

    /// <summary>Whether a request fits into the active segment and the files made ahead; wakes the preparer when it
    /// does not.</summary>
    public bool TryMakeRoom(ReadOnlySpan<AppendItem> items, long total)
    {
        if (Fits(total))
            return true;
        int files = FilesFor(items, total);
        if (files <= _prepared.Count)
            return true;
        _wantedFiles = Math.Max(_wantedFiles, files);
        preparer.Raise();
        return false;
    }

    /// <summary>Whether the active segment is to end now for its age. That is best effort: appends stay in it until
    /// the next file is there.</summary>
    public bool MustRoll(long nowMs)
    {
        // Stored times may have gone back since it was made.
        long age = Math.Abs(nowMs - Active.CreatedTimeMs);
        if (age <= options.SegmentMaxAge.TotalMilliseconds || marks.Staged <= Active.BasePosition)
            return false;
        if (_prepared.Count > 0)
            return true;
        if (!_isActiveOld)
        {
            _isActiveOld = true;
            preparer.Raise();
        }
        return false;
    }

    /// <summary>Ends the active segment behind its seal, and has appends go to the first file made ahead.</summary>
    public void Roll(long end, long nowMs)
    {
        Segment next = Make(_prepared[0], end, nowMs);
        _prepared.RemoveAt(0);
        Segment old = Active;
        Volatile.Write(ref _all, [.. _all, next]);
        old.Next = next;
        old.EndPosition = end;
        _active = next;
        _preparerDueAt = PrepareAt(next);
        _isActiveOld = false;
        _wantedFiles = 0;
    }

    /// <summary>So much is staged: wakes the preparer when it is time.</summary>
    public void NoteStaged(long position)
    {
        if (position < _preparerDueAt)
            return;
        _preparerDueAt = long.MaxValue;
        preparer.Raise();
    }

    /// <summary>Whether a part of what can be appended until the next file is urgent has been appended. If not, the
    /// preparer is woken when it has.</summary>
    /// <param name="from">What was staged when the file was begun.</param>
    /// <param name="share">The part, 0 to 1.</param>
    public bool HasStaged(long from, double share)
    {
        long due = from + (long)((UrgentAt(Active) - from) * share);
        if (_isActiveOld || marks.Staged >= due)
            return true;
        _preparerDueAt = due;
        return false;
    }

    /// <summary>Puts one segment in the place of sealed neighbours, or nothing in the place of the oldest.</summary>
    public void Replace(IReadOnlyList<Segment> group, Segment? with)
    {
        int first = Array.IndexOf(_all, group[0]);
        int behind = first + group.Count;
        Debug.Assert(_all[first..behind].SequenceEqual(group), "neighbours, in their order");
        Debug.Assert(with is not null || first == 0, "the log stays one piece");
        if (with is not null)
            with.Next = _all[behind];
        Segment[] replaced = with is null ? [] : [with];
        Volatile.Write(ref _all, [.. _all[..first], .. replaced, .. _all[behind..]]);
    }

    /// <summary>Closes all files; when no thread works on them any more.</summary>
    public void CloseFiles()
    {
        foreach (Segment segment in _all)
            segment.File?.Dispose();
        foreach (PreparedFile prepared in _prepared)
            prepared.File.Dispose();
    }

    private void Begin(Segment segment)
    {
        _active = segment;
        Writing = segment;
        _preparerDueAt = PrepareAt(segment);
    }

    private Segment Make(PreparedFile file, long position, long nowMs) =>
        new(LogFiles.Segment(directory, new LogPosition(position)), position, file.Capacity, nowMs)
        {
            File = file.File,
            PreparedPath = file.Path,
        };

    /// <summary>Files that a request needs beside the active one; a batch lies in one segment.</summary>
    private int FilesFor(ReadOnlySpan<AppendItem> items, long total)
    {
        long room = Room;
        int used = 0;
        int count = Math.Max(1, items.Length);
        for (int i = 0; i < count; i++)
        {
            long size = items.IsEmpty ? total : EntryHeader.Length + items[i].Batch.Length;
            if (room < size + EntryHeader.Length)
            {
                room = used < _prepared.Count ? _prepared[used].Capacity : options.SegmentSizeBytes;
                used++;
            }
            room -= size;
        }
        return used;
    }

    /// <summary>Where the next file begins to be made. Zeros are spread over what is appended until
    /// <see cref="UrgentAt"/>.</summary>
    private long PrepareAt(Segment segment) =>
        segment.BasePosition + (segment.Capacity / (options.FlushPolicy == FlushPolicy.Sync ? 8 : 2));

    /// <summary>From here on appends may soon wait for the next file: it is done without its other zeros.</summary>
    private static long UrgentAt(Segment segment) => segment.BasePosition + (segment.Capacity / 8 * 7);
}
