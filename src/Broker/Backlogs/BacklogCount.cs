namespace EQueue.Broker;

/// <summary>Counts what a topic holds and the slowest group that counts has not committed.</summary>
/// <remarks>
/// A batch costs the same however many queues and groups there are; a commit looks at each group once. Not thread-safe:
/// <see cref="TopicBacklog"/> guards it.
/// </remarks>
internal sealed class BacklogCount
{
    private const int MaxMarksPerTopic = 1 << 16;
    private const int LeastMarks = 64;

    private readonly Dictionary<QueueId, QueueCount> _queues = [];
    private readonly Dictionary<string, Place> _places = [];
    private readonly Place _starts = new();
    private readonly IReadOnlyList<string> _named;
    private readonly bool _countsBytes;

    // From the starts of all queues to their ends.
    private long _held;
    private long _heldBytes;

    // The least that a group that counts is ahead of the starts.
    private long _ahead;
    private long _aheadBytes;

    /// <param name="named">Groups that count; empty = every shared group that has progress and members, or had some;
    /// without one, every shared group that has progress.</param>
    /// <param name="countsBytes">Whether bytes are asked for.</param>
    public BacklogCount(IReadOnlyList<string> named, bool countsBytes)
    {
        _named = named;
        _countsBytes = countsBytes;
    }

    /// <summary>Messages of the slowest group, those included that are on their way into the log.</summary>
    public long Messages => _held - _ahead;

    /// <summary>Bytes of the group that has most of them; 0 unless bytes are counted.</summary>
    public long Bytes => _heldBytes - _aheadBytes;

    public IEnumerable<QueueId> Queues => _queues.Keys;

    /// <summary>Keeps the room that batches on their way into the log have taken from an older count.</summary>
    public void TakeOver(BacklogCount older)
    {
        foreach ((QueueId id, QueueCount taken) in older._queues)
        {
            if (taken.InFlight > 0)
                Reserve(id, taken.InFlight, taken.InFlightBytes);
        }
    }

    /// <summary>Up to where it knows a queue; -1 = it does not.</summary>
    public long StoredOf(QueueId id) => _queues.TryGetValue(id, out QueueCount? queue) ? queue.Stored : -1;

    /// <summary>Takes up what the store holds of a queue.</summary>
    /// <param name="id">The queue.</param>
    /// <param name="start">Where it begins.</param>
    /// <param name="end">Up to where it was measured; what is kept behind that is told as it is settled.</param>
    /// <param name="marks">Offsets, rising up to the end, and the bytes of the batches that end behind the one before
    /// and not behind it; the first counts from the start.</param>
    /// <param name="queueCount">How many queues the topic has.</param>
    public void Measure(QueueId id, long start, long end, IEnumerable<(long End, long Bytes)> marks, int queueCount)
    {
        QueueCount queue = Find(id);
        queue.Start = start;
        queue.Stored = Math.Max(queue.Stored, end);
        _held += queue.Take();
        if (!_countsBytes)
            return;
        queue.Bytes = new QueueBytes(Math.Max(LeastMarks, MaxMarksPerTopic / Math.Max(1, queueCount)));
        foreach ((long mark, long bytes) in marks)
            AddBytes(queue, id, mark, bytes);
        queue.MeasuredEnd = end;
        foreach ((long kept, long bytes) in queue.KeptEarly)
            AddKept(queue, id, kept, bytes);
        queue.KeptEarly.Clear();
    }

    /// <summary>Queues that could not be measured count what comes from here on.</summary>
    public void MeasureRest()
    {
        foreach ((QueueId id, QueueCount queue) in _queues)
        {
            if (_countsBytes && queue.Bytes is null)
                Measure(id, queue.Start, queue.Start, [], MaxMarksPerTopic);
        }
    }

    /// <summary>Takes room for a batch that goes to the store.</summary>
    public void Reserve(QueueId id, long messages, long bytes)
    {
        QueueCount queue = Find(id);
        queue.InFlight += messages;
        queue.InFlightBytes += bytes;
        _held += queue.Take();
        if (_countsBytes)
            _heldBytes += bytes;
    }

    /// <summary>The store has kept a batch for which room was taken, or has not.</summary>
    /// <param name="id">Its queue.</param>
    /// <param name="messages">As reserved.</param>
    /// <param name="bytes">As reserved.</param>
    /// <param name="end">The offset behind it; -1 = not kept.</param>
    public void Settle(QueueId id, int messages, int bytes, long end)
    {
        QueueCount queue = Find(id);
        queue.InFlight -= messages;
        queue.InFlightBytes -= bytes;
        queue.Stored = Math.Max(queue.Stored, end);
        _held += queue.Take();
        if (!_countsBytes)
            return;
        _heldBytes -= bytes;
        if (end >= 0)
            AddKept(queue, id, end, bytes);
    }

    /// <summary>A group continues at an offset.</summary>
    /// <param name="name">As progress is kept: the group, or group/instance.</param>
    /// <param name="hasMembers">Whether the group has members, or had some.</param>
    /// <param name="id">The queue.</param>
    /// <param name="next">The first message not processed; may be before what it was.</param>
    public void Commit(string name, bool hasMembers, QueueId id, long next)
    {
        if (!Counts(name))
            return;
        if (!_places.TryGetValue(name, out Place? place))
            _places.Add(name, place = new Place());
        place.HasMembers |= hasMembers;
        QueueCount queue = Find(id);
        queue.Reach(next);
        _held += queue.Take();
        place.Set(id, next, queue);
        FindSlowest();
    }

    /// <summary>A group has its first member.</summary>
    public void NoteMembers(string group)
    {
        if (!_places.TryGetValue(group, out Place? place) || place.HasMembers)
            return;
        place.HasMembers = true;
        FindSlowest();
    }

    /// <summary>A group's progress in a queue is gone.</summary>
    public void Forget(string name, QueueId id)
    {
        if (!_places.TryGetValue(name, out Place? place) || !place.Remove(id))
            return;
        if (place.Count == 0)
            _places.Remove(name);
        FindSlowest();
    }

    /// <summary>Messages before a start are gone.</summary>
    /// <returns>How many of them the slowest group had not committed.</returns>
    public long MoveStart(QueueId id, long start)
    {
        if (!_queues.TryGetValue(id, out QueueCount? queue) || start <= queue.Start)
            return 0;
        long before = Messages;
        queue.Start = start;
        queue.Reach(start);
        _held += queue.Take();
        if (queue.Bytes is { } bytes)
            _heldBytes -= bytes.CutBefore(start);
        foreach (Place place in _places.Values)
            place.Recount(id, queue);
        FindSlowest();
        return Math.Max(0, before - Messages);
    }

    /// <summary>Where queues have to start for every group to have at most so much before it: of each group the
    /// longest backlogs are cut first, down to an equal length.</summary>
    public IReadOnlyList<(QueueId Queue, QueueOffset Start)> Cut(long messages, long bytes)
    {
        var starts = new Dictionary<QueueId, long>();
        foreach (Place place in Counted())
        {
            if (_held - place.Ahead > messages)
                CutMessages(place, messages, starts);
            if (_heldBytes - place.AheadBytes > bytes)
                CutBytes(place, bytes, starts);
        }

        return [.. starts.Select(one => (one.Key, new QueueOffset(Math.Min(one.Value, _queues[one.Key].Stored))))];
    }

    private void CutMessages(Place place, long messages, Dictionary<QueueId, long> starts)
    {
        long level = FindLevel([.. _queues.Select(one => place.Behind(one.Key, one.Value))], messages);
        foreach ((QueueId id, QueueCount queue) in _queues)
        {
            if (place.Behind(id, queue) > level)
                Raise(starts, id, queue.End - level);
        }
    }

    private void CutBytes(Place place, long bytes, Dictionary<QueueId, long> starts)
    {
        long level = FindLevel([.. _queues.Select(one => place.BytesBehind(one.Key, one.Value))], bytes);
        foreach ((QueueId id, QueueCount queue) in _queues)
        {
            if (place.BytesBehind(id, queue) > level && queue.Bytes is { } known)
                Raise(starts, id, known.FindEnd(Math.Max(0, level - queue.InFlightBytes)));
        }
    }

    private static void Raise(Dictionary<QueueId, long> starts, QueueId id, long start) =>
        starts[id] = Math.Max(starts.GetValueOrDefault(id), start);

    /// <summary>The greatest length to which all may be cut so that together they are no more than
    /// <paramref name="total"/>.</summary>
    private static long FindLevel(long[] lengths, long total)
    {
        Array.Sort(lengths);
        for (int i = 0; i < lengths.Length; i++)
        {
            long share = total / (lengths.Length - i);
            if (lengths[i] > share)
                return share;
            total -= lengths[i];
        }

        return long.MaxValue;
    }

    private void AddKept(QueueCount queue, QueueId id, long end, long bytes)
    {
        if (queue.Bytes is null)
            queue.KeptEarly.Add((end, bytes));
        else if (end > queue.MeasuredEnd)
            AddBytes(queue, id, end, bytes);
    }

    private void AddBytes(QueueCount queue, QueueId id, long end, long bytes)
    {
        if (queue.Bytes is not { } known || end <= queue.Start)
            return;
        known.Add(end, bytes);
        _heldBytes += bytes;
        bool isPassed = false;
        foreach (Place place in _places.Values)
            isPassed |= place.HasPassed(id, end) && place.Recount(id, queue);
        if (isPassed)
            FindSlowest();
    }

    private QueueCount Find(QueueId id)
    {
        if (!_queues.TryGetValue(id, out QueueCount? queue))
            _queues.Add(id, queue = new QueueCount());
        return queue;
    }

    private bool Counts(string name)
    {
        (string group, string? instance) = ProgressName.Split(name);
        return _named.Count == 0 ? instance is null : _named.Contains(group);
    }

    /// <summary>The places that count: of every group, and the starts for those that have none yet.</summary>
    private IEnumerable<Place> Counted()
    {
        // A commit has no reader; a member that joined reads.
        if (_named.Count == 0 && _places.Values.Any(place => place.HasMembers))
            return _places.Values.Where(place => place.HasMembers);
        bool isSomebodyMissing = _named.Count == 0
            ? _places.Count == 0
            : !_named.All(name => _places.Keys.Any(one => ProgressName.Split(one).Group == name));
        return isSomebodyMissing ? _places.Values.Append(_starts) : _places.Values;
    }

    private void FindSlowest()
    {
        _ahead = long.MaxValue;
        _aheadBytes = long.MaxValue;
        foreach (Place place in Counted())
        {
            _ahead = Math.Min(_ahead, place.Ahead);
            _aheadBytes = Math.Min(_aheadBytes, place.AheadBytes);
        }
    }

    private sealed class QueueCount
    {
        private long _taken;

        public long Start { get; set; }

        /// <summary>The end that the store has told.</summary>
        public long Stored { get; set; }

        public long InFlight { get; set; }

        public long InFlightBytes { get; set; }

        /// <summary>Null until it is measured.</summary>
        public QueueBytes? Bytes { get; set; }

        /// <summary>What was stored before is in the bytes already.</summary>
        public long MeasuredEnd { get; set; }

        /// <summary>Batches that were kept before it was measured.</summary>
        public List<(long End, long Bytes)> KeptEarly { get; } = [];

        public long End => Stored + InFlight;

        /// <summary>What a group has committed or retention let go of is stored, even when no batch took room for it
        /// because the topic had no bound then.</summary>
        public void Reach(long offset) => Stored += Math.Max(0, offset - End);

        /// <summary>By how much the messages held have changed since the last call.</summary>
        public long Take()
        {
            long before = _taken;
            _taken = End - Start;
            return _taken - before;
        }
    }

    /// <summary>How far a group has come; where it has committed nothing it stands at the start.</summary>
    private sealed class Place
    {
        private readonly Dictionary<QueueId, (long Next, long Ahead, long AheadBytes)> _next = [];

        public int Count => _next.Count;

        /// <summary>Whether its group has members, or had some.</summary>
        public bool HasMembers { get; set; }

        /// <summary>Messages, over all queues, between their starts and what it has committed.</summary>
        public long Ahead { get; private set; }

        public long AheadBytes { get; private set; }

        public void Set(QueueId id, long next, QueueCount queue)
        {
            Remove(id);
            long from = Math.Max(next, queue.Start);
            long bytes = queue.Bytes is { } known ? known.Before(from) - known.Base : 0;
            _next[id] = (next, from - queue.Start, bytes);
            Ahead += from - queue.Start;
            AheadBytes += bytes;
        }

        public bool Remove(QueueId id)
        {
            if (!_next.Remove(id, out (long Next, long Ahead, long AheadBytes) gone))
                return false;
            Ahead -= gone.Ahead;
            AheadBytes -= gone.AheadBytes;
            return true;
        }

        /// <summary>Whether it has committed up to an offset.</summary>
        public bool HasPassed(QueueId id, long offset) =>
            _next.TryGetValue(id, out (long Next, long Ahead, long AheadBytes) one) && one.Next >= offset;

        public bool Recount(QueueId id, QueueCount queue)
        {
            if (!_next.TryGetValue(id, out (long Next, long Ahead, long AheadBytes) one))
                return false;
            Set(id, one.Next, queue);
            return true;
        }

        public long Behind(QueueId id, QueueCount queue) => queue.End - Math.Max(queue.Start, NextOf(id));

        public long BytesBehind(QueueId id, QueueCount queue) => queue.Bytes is { } bytes
            ? bytes.Total + queue.InFlightBytes - bytes.Before(Math.Max(queue.Start, NextOf(id)))
            : 0;

        private long NextOf(QueueId id) =>
            _next.TryGetValue(id, out (long Next, long Ahead, long AheadBytes) one) ? one.Next : 0;
    }
}
