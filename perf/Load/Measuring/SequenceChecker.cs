namespace EQueue.Load.Measuring;

/// <summary>
/// Judges every message that one consumer got: each sequence of each producer once, in rising order within a queue,
/// and (one body in 1,024) the bytes that were sent.
/// </summary>
/// <remarks>One thread. Costs a few nanoseconds per message.</remarks>
internal sealed class SequenceChecker
{
    /// <summary>One body in this many is compared byte by byte and timed. A power of two.</summary>
    public const int SampleInterval = 1024;

    private readonly SequenceSet[] _seen;
    private readonly BodyComparer _bodies;
    private readonly long[] _lastSequences;
    private readonly int _queueCount;
    private readonly int _bodySize;
    private readonly uint _run;
    private long _duplicated;

    /// <param name="bodies">What every body must look like.</param>
    /// <param name="producerCount">Producers are numbered from 0.</param>
    /// <param name="queueCount">Queues of all topics together.</param>
    /// <param name="bodySize">Bytes of every body.</param>
    /// <param name="run">The run that every stamp must name.</param>
    public SequenceChecker(BodyComparer bodies, int producerCount, int queueCount, int bodySize, uint run)
    {
        _bodies = bodies;
        _queueCount = queueCount;
        _bodySize = bodySize;
        _run = BodyStamp.RunIn(bodySize, run);
        _seen = new SequenceSet[producerCount];
        foreach (ref SequenceSet set in _seen.AsSpan())
            set = new SequenceSet();
        _lastSequences = new long[producerCount * queueCount];
        Array.Fill(_lastSequences, -1);
    }

    /// <summary>Messages that came more than once.</summary>
    public long Duplicated => _duplicated + _seen.Sum(set => set.Doubles);

    /// <summary>Messages that came after a later one of the same producer and queue.</summary>
    public long Reordered { get; private set; }

    /// <summary>Messages whose length, stamp or bytes are not those of any message sent.</summary>
    public long Damaged { get; private set; }

    /// <summary>Looks at one message.</summary>
    /// <param name="queue">Which queue it came from, 0..queueCount - 1 over all topics.</param>
    /// <returns>True if this message is one of the sampled ones.</returns>
    public bool Observe(int queue, ReadOnlySpan<byte> body)
    {
        if (body.Length != _bodySize)
        {
            Damaged++;
            return false;
        }

        var stamp = BodyStamp.Read(body);
        if (stamp.Run != _run
            || (uint)stamp.Producer >= (uint)_seen.Length
            || (ulong)stamp.Sequence >= SequenceSet.MaxSequence)
        {
            Damaged++;
            return false;
        }

        ref long last = ref _lastSequences[(stamp.Producer * _queueCount) + queue];
        if (stamp.Sequence == last + 1)
        {
            _seen[stamp.Producer].Follow(stamp.Sequence);
            last = stamp.Sequence;
        }
        else
        {
            Place(stamp, ref last);
        }

        if (!IsSampled(stamp.Sequence))
            return false;
        if (!_bodies.Matches(stamp, body))
            Damaged++;
        return true;
    }

    /// <summary>A message that is not the one after its predecessor: begins a batch, or is wrong.</summary>
    private void Place(in BodyStamp stamp, ref long last)
    {
        if (!_seen[stamp.Producer].Add(stamp.Sequence))
            _duplicated++;
        else if (stamp.Sequence > last)
            last = stamp.Sequence;
        else
            Reordered++;
    }

    public static bool IsSampled(long sequence) => (sequence & (SampleInterval - 1)) == 0;

    /// <summary>The verdict over what several consumers of one run got.</summary>
    /// <param name="checkers">Each consumer's checker; used up.</param>
    /// <param name="sent">Messages that each producer sent.</param>
    public static CheckResult Judge(IReadOnlyList<SequenceChecker> checkers, IReadOnlyList<long> sent)
    {
        long missing = 0, unknown = 0, duplicated = checkers.Sum(checker => checker.Duplicated);
        for (int producer = 0; producer < sent.Count; producer++)
        {
            SequenceSet all = checkers[0]._seen[producer];
            foreach (SequenceChecker? checker in checkers.Skip(1))
                duplicated += all.Add(checker._seen[producer]);
            long absent = all.CountMissing(sent[producer]);
            missing += absent;
            unknown += all.Count - (sent[producer] - absent);
        }

        long damaged = checkers.Sum(checker => checker.Damaged) + unknown;
        return new CheckResult(missing, duplicated, checkers.Sum(checker => checker.Reordered), damaged);
    }
}

/// <summary>What was wrong with a run's messages.</summary>
/// <param name="Damaged">Bodies that no producer sent.</param>
internal sealed record CheckResult(long Missing, long Duplicated, long Reordered, long Damaged)
{
    public bool IsRight => this is { Missing: 0, Duplicated: 0, Reordered: 0, Damaged: 0 };
}
