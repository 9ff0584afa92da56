namespace EQueue.Broker.Tests.Backlogs;

/// <summary>A count of a backlog and a plain model of the same: random steps, compared whenever wanted.</summary>
internal sealed class BacklogCourse
{
    private const int QueueCount = 3;

    // Two names of one group, as broadcast instances have them, among them.
    private static readonly string[] Names = ["a", "b", "c", "news/one", "news/two"];

    private readonly Random _random;
    private readonly string[] _named;
    private readonly List<(long End, long Bytes)>[] _batches = [[], [], []];
    private readonly long[] _starts = new long[QueueCount];
    private readonly List<(int Queue, int Messages, int Bytes)> _onTheirWay = [];
    private readonly Dictionary<(string Name, int Queue), long> _next = [];
    private BacklogCount _count;

    public BacklogCourse(int seed)
    {
        _random = new Random(seed);
        _named = _random.Next(4) switch
        {
            0 => ["a", "b"],
            1 => ["news"],
            _ => [],
        };
        _count = new BacklogCount(_named, countsBytes: true);
        MeasureAll(_count);
    }

    private long Held => Enumerable.Range(0, QueueCount).Sum(queue => EndOf(queue) - _starts[queue]);

    public void Step()
    {
        int queue = _random.Next(QueueCount);
        switch (_random.Next(12))
        {
            case < 4:
                Reserve(queue);
                break;
            case < 7 when _onTheirWay.Count > 0:
                Settle(_random.Next(4) != 0);
                break;
            case < 9:
                Commit(queue);
                break;
            case 9:
                Forget();
                break;
            case 10 when _random.Next(4) == 0:
                MoveStart(queue, _random.NextInt64(_starts[queue], EndOf(queue) + 1));
                break;
            case 11 when _random.Next(8) == 0:
                MeasureAgain();
                break;
            default:
                Reserve(queue);
                Settle(isKept: true);
                break;
        }
    }

    public void SettleAll()
    {
        while (_onTheirWay.Count > 0)
            Settle(isKept: true);
    }

    public void Compare()
    {
        long messages = Counted().Max(name => Behind(name).Sum());
        Assert.Equal(messages + _onTheirWay.Sum(batch => batch.Messages), _count.Messages);
        long bytes = Counted().Max(BytesBehind);
        Assert.Equal(bytes + _onTheirWay.Sum(batch => batch.Bytes), _count.Bytes);
    }

    /// <summary>Cuts to a random bound: each group is at it, and each start is where a group's equal length puts
    /// it.</summary>
    public void CutMessages()
    {
        long bound = _random.NextInt64(1, Math.Max(2, Held));
        long[] longest = [.. Enumerable.Range(0, QueueCount).Select(
            queue => Counted().Max(name => Level(Behind(name), bound) is var level && Behind(name)[queue] > level
                ? EndOf(queue) - level
                : _starts[queue]))];
        Take(_count.Cut(bound, long.MaxValue));
        Assert.Equal(longest, _starts);
        Assert.All(Counted(), name => Assert.InRange(Behind(name).Sum(), 0, bound));
    }

    public void CutBytes()
    {
        long bound = _random.NextInt64(1, Math.Max(2, Counted().Max(BytesBehind)));
        bool isOver = Counted().Max(BytesBehind) > bound;
        IReadOnlyList<(QueueId Queue, QueueOffset Start)> cut = _count.Cut(long.MaxValue, bound);
        Assert.Equal(isOver, cut.Count > 0);
        Take(cut);
        Assert.All(Counted(), name => Assert.InRange(BytesBehind(name), 0, bound));
    }

    /// <summary>The greatest length to which queues can be cut so that they are no more together, tried one by
    /// one.</summary>
    private static long Level(long[] lengths, long bound)
    {
        if (lengths.Sum() <= bound)
            return long.MaxValue;
        long level = 0;
        while (lengths.Sum(length => Math.Min(length, level + 1)) <= bound)
            level++;
        return level;
    }

    private static QueueId IdOf(int queue) => new((uint)queue + 1);

    private long EndOf(int queue) => _batches[queue].Count == 0 ? 0 : _batches[queue][^1].End;

    private void Reserve(int queue)
    {
        (int Queue, int Messages, int Bytes) batch = (queue, _random.Next(1, 9), _random.Next(50, 900));
        _onTheirWay.Add(batch);
        _count.Reserve(IdOf(queue), batch.Messages, batch.Bytes);
    }

    private void Settle(bool isKept)
    {
        (int Queue, int Messages, int Bytes) batch = _onTheirWay[0];
        _onTheirWay.RemoveAt(0);
        long end = -1;
        if (isKept)
            _batches[batch.Queue].Add((end = EndOf(batch.Queue) + batch.Messages, batch.Bytes));
        _count.Settle(IdOf(batch.Queue), batch.Messages, batch.Bytes, end);
    }

    private void Commit(int queue)
    {
        string name = Names[_random.Next(Names.Length)];
        _next[(name, queue)] = _random.NextInt64(EndOf(queue) + 1);
        _count.Commit(name, hasMembers: true, IdOf(queue), _next[(name, queue)]);
    }

    private void Forget()
    {
        string name = Names[_random.Next(Names.Length)];
        int queue = _random.Next(QueueCount);
        _next.Remove((name, queue));
        _count.Forget(name, IdOf(queue));
    }

    private void MoveStart(int queue, long start)
    {
        _starts[queue] = start;
        _count.MoveStart(IdOf(queue), start);
    }

    private void Take(IReadOnlyList<(QueueId Queue, QueueOffset Start)> starts)
    {
        foreach ((QueueId queue, QueueOffset start) in starts)
            MoveStart((int)queue.Value - 1, start.Value);
    }

    private void MeasureAgain()
    {
        var count = new BacklogCount(_named, countsBytes: true);
        count.TakeOver(_count);
        MeasureAll(count);
        foreach (((string name, int queue), long next) in _next)
            count.Commit(name, hasMembers: true, IdOf(queue), next);
        _count = count;
    }

    private void MeasureAll(BacklogCount count)
    {
        for (int queue = 0; queue < QueueCount; queue++)
        {
            count.Measure(
                IdOf(queue),
                _starts[queue],
                EndOf(queue),
                _batches[queue].Where(batch => batch.End > _starts[queue]).ToList(),
                QueueCount);
        }
    }

    /// <summary>Who counts; "" = no group's progress, the starts.</summary>
    private List<string> Counted()
    {
        string[] known = [.. _next.Keys.Select(key => key.Name).Distinct()];
        List<string> counted = _named.Length == 0
            ? [.. known.Where(name => !name.Contains('/', StringComparison.Ordinal))]
            : [.. known.Where(name => _named.Contains(name.Split('/')[0]))];
        if (counted.Count == 0 || !_named.All(group => counted.Exists(name => name.Split('/')[0] == group)))
            counted.Add("");
        return counted;
    }

    private long FromOf(string name, int queue) => Math.Max(
        _starts[queue], _next.GetValueOrDefault((name, queue)));

    private long[] Behind(string name) =>
        [.. Enumerable.Range(0, QueueCount).Select(queue => EndOf(queue) - FromOf(name, queue))];

    private long BytesBehind(string name) => Enumerable.Range(0, QueueCount).Sum(queue => _batches[queue]
        .Where(batch => batch.End > FromOf(name, queue)).Sum(batch => batch.Bytes));
}
