using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>How far a commit log has come, and the one place that orders these marks in memory: no other type has a
/// barrier for them.</summary>
/// <remarks>
/// <code>
/// mark      below it                                     moved by, one at a time
/// claimed   the ring may be overwritten, less its size   who holds the log's lock
/// staged    entries have their place in the ring         who holds the log's lock
/// written   the system has the entries                   who holds the write lock
/// durable   fdatasync has returned                       who holds the flush lock
/// visible   readers may see                              who writes or syncs; of a leader, who tells what is committed
/// wanted    the flusher is to come without waiting       who holds the log's lock
/// </code>
/// Any thread reads them, with no lock. Claimed is never below staged, staged never below written, written never below
/// durable and visible. Written, durable and visible always stand between two requests. A mark is moved after what it
/// tells of was done (a release), and read before that is looked at (an acquire): on x64 both are plain moves.
/// </remarks>
internal sealed class Watermarks
{
    private readonly long _firstInMemory;
    private readonly long _ringBytes;
    private readonly bool _isLeading;
    private long _claimed;
    private long _staged;
    private long _written;
    private long _durable;
    private long _visible;
    private long _durableWanted;
    private bool _isFlushTimed;

    /// <summary>Begins where recovery has come to.</summary>
    /// <param name="end">The end of the log: all before it is durable.</param>
    /// <param name="visible">What readers may see of it.</param>
    /// <param name="ringBytes">Bytes of the ring of memory over the log's end.</param>
    /// <param name="isLeading">Whether others say what is visible: what replicas have as well.</param>
    public Watermarks(long end, long visible, long ringBytes, bool isLeading)
    {
        _claimed = _staged = _written = _durable = _firstInMemory = end;
        _visible = visible;
        _ringBytes = ringBytes;
        _isLeading = isLeading;
    }

    public long Staged => Volatile.Read(ref _staged);

    public long Claimed => Volatile.Read(ref _claimed);

    public long Written => Volatile.Read(ref _written);

    public long Durable => Volatile.Read(ref _durable);

    public long Visible => Volatile.Read(ref _visible);

    /// <summary>Below it everything is committed and durable here: what the gate lets pass, and what entries prove of
    /// those before them. A single broker commits what is durable, if not sooner.</summary>
    public long Settled => _isLeading ? Math.Min(Visible, Durable) : Durable;

    /// <summary>Whether an append or a thread waits for more to be durable here than is.</summary>
    public bool IsDurableWanted => Volatile.Read(ref _durableWanted) > Durable;

    /// <summary>All at one look.</summary>
    /// <param name="begin">The first position that the log still holds.</param>
    public LogWatermarks Look(long begin)
    {
        // From the back, so that a later watermark never shows behind an earlier one.
        long durable = Durable;
        long visible = Visible;
        long written = Written;
        long staged = Staged;
        return new LogWatermarks(
            new LogPosition(begin),
            new LogPosition(staged),
            new LogPosition(written),
            new LogPosition(durable),
            new LogPosition(Math.Min(visible, written)));
    }

    /// <summary>Whether the ring holds everything from a visible position on.</summary>
    public bool IsInMemory(long position) => position >= _firstInMemory && position >= Claimed - _ringBytes;

    /// <summary>The same, asked after bytes were copied out of the ring: only then the copy counts.</summary>
    public bool IsStillInMemory(long position)
    {
        // The bytes are read before, the claim after; who overwrites them does it the other way round.
        Volatile.ReadBarrier();
        return IsInMemory(position);
    }

    /// <summary>Tells readers how far the ring will be overwritten; before it is. Under the log's lock.</summary>
    public void Claim(long position)
    {
        Volatile.Write(ref _claimed, position);
        Volatile.WriteBarrier();
    }

    /// <summary>Entries up to here are in the ring. Under the log's lock.</summary>
    public void Stage(long position) => Volatile.Write(ref _staged, position);

    /// <summary>The system has everything up to here. Under the write lock.</summary>
    public void Write(long position) => Volatile.Write(ref _written, position);

    /// <summary>Everything up to here is durable. Under the flush lock.</summary>
    public void Sync(long position) => Volatile.Write(ref _durable, position);

    /// <summary>Readers may see everything up to here.</summary>
    public void Show(long position) => Volatile.Write(ref _visible, position);

    /// <summary>Has the flusher go so far without waiting for its interval. Under the log's lock.</summary>
    public void WantDurable(long position)
    {
        if (position > _durableWanted)
            Volatile.Write(ref _durableWanted, position);
    }

    /// <summary>The flusher waits for the rest of its interval, and needs no other writes to be told of.</summary>
    public void BeginInterval() => Volatile.Write(ref _isFlushTimed, true);

    /// <summary>The flusher has synced: the next write begins its next interval.</summary>
    public void EndInterval() => Volatile.Write(ref _isFlushTimed, false);

    /// <summary>Whether the flusher must be woken with async flush. Asked after a write.</summary>
    public bool IsFlusherNeeded()
    {
        // Written before, the flusher's wishes after: it writes and reads them in the other order, so one of the two
        // sees the other.
        Interlocked.MemoryBarrier();
        return IsDurableWanted || !Volatile.Read(ref _isFlushTimed);
    }
}
