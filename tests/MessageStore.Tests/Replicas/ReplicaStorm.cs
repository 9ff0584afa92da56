using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Two real stores on simulated disks: one leads, one follows plainly; both crash, lose power, are cut, take
/// snapshots, pack, remove, and change roles. What is committed must stay, byte for byte.</summary>
internal sealed class ReplicaStorm : IAsyncDisposable
{
    private const int MostQueues = 4;
    private const int MostTraced = 80;

    private readonly Random _random;
    private readonly FlushPolicy _policy;
    private readonly SimulatedDisk[] _disks = [new(), new()];
    private readonly List<byte> _committed = [];
    private readonly Queue<string> _trace = [];
    private QueueStore _leader = null!;
    private ReplicaFiles? _follower;
    private MemoryState _state = new();
    private int _leads;
    private int _epoch;
    private int _versions;

    private ReplicaStorm(int seed, FlushPolicy policy) => (_random, _policy) = (new Random(seed), policy);

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    /// <summary>How often each kind of thing happened.</summary>
    public Dictionary<string, int> Counts { get; } = new(StringComparer.Ordinal);

    /// <summary>What was done last, and what there is: for who looks for the cause of a failure.</summary>
    public string Describe() =>
        $"{string.Join(" | ", _trace)}\nleader's files: {NamesOn(LeaderDisk)}\nfollower's: {NamesOn(FollowerDisk)}";

    private SimulatedDisk LeaderDisk => _disks[_leads];

    private SimulatedDisk FollowerDisk => _disks[1 - _leads];

    private LogPosition Committed => new(_committed.Count);

    /// <summary>Makes a store and its replica.</summary>
    public static async Task<ReplicaStorm> BeginAsync(int seed, FlushPolicy policy)
    {
        var storm = new ReplicaStorm(seed, policy);
        LogPosition end;
        await using (QueueStore store = await CrashRun.OpenAsync(storm._disks[0], policy, new MemoryState(), Cancel))
        {
            await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
            await store.DisposeAsync();
            end = store.Watermarks.Durable;
        }

        storm._epoch = 5;
        await storm.LeadAsync(default, end);
        storm._follower = Replica.Create(storm._disks[1], storm._leader);
        Replica.Feed(storm._leader, storm._follower);
        storm._follower.Sync();
        // What the store had before it led is committed: nothing of it may be cut.
        await storm.CommitAsync();
        return storm;
    }

    /// <summary>Does so many things.</summary>
    public async Task RunAsync(int operations)
    {
        for (int i = 0; i < operations; i++)
            await StepAsync();
        Feed(1 << 20);
        await CheckAsync();
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        _follower?.Dispose();
        await _leader.DisposeAsync();
    }

    private Task StepAsync()
    {
        switch (_random.Next(1000))
        {
            case < 380:
                return AppendAsync();
            case < 450:
                return AppendStateAsync([MemoryState.Entry($"k{_random.Next(5)}", $"{++_versions}")]);
            case < 460:
                return OpenQueueAsync();
            case < 464:
                return RemoveQueueAsync();
            case < 480:
                return MoveStartAsync();
            case < 700:
                return Done(() => Feed(_random.Next(200, 20_000)), "feed");
            case < 800:
                return Done(() => _follower!.Sync(), "sync");
            case < 930:
                return CommitAsync();
            case < 945:
                return Done(CopyFiles, "copy");
            case < 955:
                return Done(RemoveBelow, "remove below");
            case < 962:
                return Done(() => ReopenFollower(isPowerCut: false), "follower killed");
            case < 969:
                return Done(() => ReopenFollower(isPowerCut: true), "follower's power cut");
            case < 975:
                return Done(CutFollower, "follower cut");
            case < 985:
                return ChangeRolesAsync();
            case < 990:
                return RestartLeaderAsync();
            case < 993:
                return Done(Newcomer, "directory lost");
            default:
                return SettleAsync();
        }
    }

    private Task Done(Action action, string what)
    {
        Count(what);
        action();
        return Task.CompletedTask;
    }

    private static string NamesOn(SimulatedDisk disk) =>
        string.Join(' ', disk.Files.Select(Path.GetFileName).Order(StringComparer.Ordinal));

    private void Count(string what)
    {
        Counts[what] = Counts.GetValueOrDefault(what) + 1;
        if (_trace.Count == MostTraced)
            _trace.Dequeue();
        LogWatermarks marks = _leader.Watermarks;
        _trace.Enqueue($"{what} ({_leads} leads {_leader.Epoch}: {marks.Begin.Value}-{marks.Visible.Value}/"
            + $"{marks.Written.Value}, follower {_follower?.Tail.End.Value}/{_follower?.Durable.Value})");
    }

    private async Task AppendAsync()
    {
        QueueView[] queues = [.. _leader.Queues];
        if (queues.Length == 0)
            return;
        var items = new AppendItem[_random.Next(1, 3)];
        for (int i = 0; i < items.Length; i++)
        {
            byte[] batch = TestBatch.OfSize(_random.Next(3) == 0 ? _random.Next(3_000) : 20, _random.Next());
            items[i] = new AppendItem
            {
                Queue = queues[_random.Next(queues.Length)].Id,
                Batch = batch,
                TagBits = uint.MaxValue,
            };
        }

        Count("append");
        while (_leader.Append(items, (Durability)_random.Next(3), new TestWaiter(), _random.Next(2) == 0)
            == AppendStatus.NoRoom)
        {
            await MakeRoomAsync();
        }
    }

    private async Task AppendStateAsync(StateEntry[] records)
    {
        Count("state");
        while (_leader.AppendState(records, new TestWaiter()) == AppendStatus.NoRoom)
            await MakeRoomAsync();
    }

    /// <summary>The ring is full of what is not committed, or the next segment is not made yet.</summary>
    private async Task MakeRoomAsync()
    {
        await SettleAsync();
        FeedAll();
        _follower!.Sync();
        await CommitAsync();
        await _leader.WaitForRoomAsync(Cancel).AsTask().WaitAsync(TimeSpan.FromMinutes(1), Cancel);
    }

    private async Task OpenQueueAsync()
    {
        if (_leader.Queues.Count() >= MostQueues)
            return;
        Count("open queue");
        Task opened = _leader.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel);
        await FinishAsync(opened);
    }

    private async Task RemoveQueueAsync()
    {
        QueueView[] queues = [.. _leader.Queues];
        if (queues.Length < 2)
            return;
        Count("remove queue");
        await FinishAsync(_leader.RemoveQueuesAsync([queues[_random.Next(queues.Length)].Id], [], Cancel));
    }

    private async Task MoveStartAsync()
    {
        QueueView[] queues = [.. _leader.Queues];
        if (queues.Length == 0)
            return;
        Count("move start");
        QueueView queue = queues[_random.Next(queues.Length)];
        long start = queue.Start.Value + ((queue.End.Value - queue.Start.Value) / 2);
        await FinishAsync(_leader.MoveStartsAsync([(queue.Id, new QueueOffset(start))], Cancel));
    }

    /// <summary>Half of what is asked for is not waited for: it is on its way when something else happens.</summary>
    private async Task FinishAsync(Task asked)
    {
        if (_random.Next(2) == 0)
        {
            _ = asked.ContinueWith(task => _ = task.Exception, TaskScheduler.Default);
            return;
        }

        while (!asked.IsCompleted)
        {
            await SettleAsync();
            Feed(1 << 20);
            _follower!.Sync();
            await CommitAsync();
        }

        await asked;
    }

    private Task SettleAsync() => Replica.SettleAsync(_leader, isDurable: true);

    private void Feed(int maxBytes)
    {
        int most = _random.Next(1, 5);
        for (int i = 0; i < most && FeedOnce(Math.Min(maxBytes, 64 << 10)); i++)
        {
        }
    }

    private void FeedAll()
    {
        while (FeedOnce(64 << 10))
        {
        }
    }

    /// <summary>Gives the follower one answer. One that has lost what was committed may be below what the leader has
    /// as it was written: then it is copied anew.</summary>
    private bool FeedOnce(int maxBytes)
    {
        try
        {
            return Replica.FeedOnce(_leader, _follower!, maxBytes);
        }
        catch (KeyNotFoundException)
        {
            Newcomer();
            return true;
        }
    }

    private void Match()
    {
        if (!Replica.Match(_leader, _follower!))
            Newcomer();
    }

    /// <summary>Tells the leader what both have; what is committed now is compared, and remembered.</summary>
    private Task CommitAsync()
    {
        Count("commit");
        Replica.Commit(_leader, _follower!);
        long visible = _leader.Watermarks.Visible.Value;
        if (visible > _committed.Count)
        {
            byte[] bytes = Replica.BytesOf(FollowerDisk, Committed, new LogPosition(visible));
            Assert.Equal(Replica.BytesOf(LeaderDisk, Committed, new LogPosition(visible)), bytes);
            _committed.AddRange(bytes);
        }

        return Task.CompletedTask;
    }

    private void CopyFiles()
    {
        IEnumerable<string> files = LeaderDisk.Files.Where(path => Path.GetDirectoryName(path) == Replica.Logs);
        foreach (string path in files.OrderByDescending(path => ReplicaFiles.IsSnapshot(Path.GetFileName(path))))
        {
            string name = Path.GetFileName(path);
            if (ReplicaFileName.Parse(name) is null || !_follower!.Follows(name))
                continue;
            try
            {
                using ReplicaCopy copy = _follower.BeginCopy(name);
                copy.Write(LeaderDisk.ReadAll(path));
                copy.Complete(Committed);
                Count($"copied {Path.GetExtension(name)}");
            }
            catch (ReplicaException exception)
            {
                Count(exception.InTheWay is null ? "copy refused" : "pack that does not fit");
            }
            catch (KeyNotFoundException)
            {
                Count("copy of what has gone");
            }
        }
    }

    private void RemoveBelow()
    {
        LogPosition begin = _leader.Watermarks.Begin;
        if (begin <= Committed && begin <= _follower!.Durable)
            _follower.RemoveBelow(begin, Committed);
    }

    private void ReopenFollower(bool isPowerCut)
    {
        LogPosition durable = _follower!.Durable;
        ReplicaTail tail = _follower.Tail;
        _follower.Dispose();
        _disks[1 - _leads] = isPowerCut ? FollowerDisk.CutPower(_random.Next(), StyleOf()) : FollowerDisk.KillProcess();
        OpenFollower();
        Assert.True(_follower.IsWhole, "something that was durable is gone");
        Assert.True(_follower.Tail.End >= durable, $"{durable} was durable, {_follower.Tail.End} is left");
        Assert.True(isPowerCut || _follower.Tail == tail, "a process's death took what was written");
        Match();
    }

    private void OpenFollower() => _follower = Replica.Open(FollowerDisk);

    private PowerCutStyle StyleOf() => (PowerCutStyle)_random.Next(4);

    /// <summary>A cut that nobody asks for, to the end of any entry that is not committed.</summary>
    private void CutFollower()
    {
        if (_follower!.Tail.End <= Committed)
            return;
        byte[] bytes = Replica.BytesOf(FollowerDisk, Committed, _follower.Tail.End);
        var ends = new List<long> { 0 };
        while (ends[^1] < bytes.Length)
            ends.Add(ends[^1] + EntryHeader.Read(bytes.AsSpan((int)ends[^1])).Size);
        _follower.CutTo(new LogPosition(Committed.Value + ends[_random.Next(ends.Count)]));
        Assert.True(_leader.Holds(_follower.Tail));
    }

    /// <summary>The leader stops in order, dies, or loses its power; the follower leads.</summary>
    private async Task ChangeRolesAsync()
    {
        // With async flush the other one may have lost what was committed: two failures are too many.
        if (_follower!.Tail.End < Committed)
            return;
        Count("change of roles");
        SimulatedDisk left = await EndLeaderAsync();
        LogPosition end = _follower.Tail.End;
        LogPosition durable = _follower.Durable;
        _follower.Dispose();
        _disks[_leads] = left;
        _leads = 1 - _leads;
        await LeadAsync(durable, end);
        OpenFollower();
        Match();
        await CheckAsync();
    }

    /// <summary>The leader restarts and leads again, in a new epoch.</summary>
    private async Task RestartLeaderAsync()
    {
        Count("leader restarted");
        _disks[_leads] = await EndLeaderAsync();
        LogPosition end;
        LogPosition durable;
        using (ReplicaFiles own = Replica.Open(LeaderDisk))
            (end, durable) = (own.Tail.End, own.Durable);
        if (end < Committed)
        {
            Assert.Equal(FlushPolicy.Async, _policy);
            Assert.True(_follower!.Tail.End >= Committed, "both have lost what was committed");
            (end, durable) = (_follower.Tail.End, _follower.Durable);
            _follower.Dispose();
            _leads = 1 - _leads;
            await LeadAsync(durable, end);
            OpenFollower();
        }
        else
        {
            await LeadAsync(durable, end);
        }

        Match();
        await CheckAsync();
    }

    private async Task<SimulatedDisk> EndLeaderAsync()
    {
        switch (_random.Next(3))
        {
            case 0:
                Count("leader stopped");
                await _leader.DisposeAsync();
                return LeaderDisk.KillProcess();
            case 1:
                Count("leader killed");
                SimulatedDisk killed = LeaderDisk.Kill();
                await _leader.DisposeAsync();
                return killed;
            default:
                if (_policy == FlushPolicy.Async && _follower!.Tail.End < Committed)
                    goto case 1;
                Count("leader's power cut");
                SimulatedDisk cut = LeaderDisk.CutPower(_random.Next(), StyleOf());
                await _leader.DisposeAsync();
                return cut;
        }
    }

    private async Task LeadAsync(LogPosition durable, LogPosition end)
    {
        // What is known as committed may be old.
        var known = new LogPosition(Math.Min(_random.NextInt64(_committed.Count + 1), end.Value));
        known = _committed.Count == 0 || _random.Next(2) == 0 ? Replica.Least(Committed, end) : EntryBefore(known);
        _epoch += _random.Next(1, 3);
        _state = new MemoryState();
        _leader = await Replica.LeadAsync(LeaderDisk, _policy, _state, new Lead(_epoch, known, durable));
        _leader.StartLeading();
    }

    private LogPosition EntryBefore(LogPosition position)
    {
        byte[] bytes = [.. _committed];
        long end = 0;
        while (end < bytes.Length && end + EntryHeader.Read(bytes.AsSpan((int)end)).Size <= position.Value)
            end += EntryHeader.Read(bytes.AsSpan((int)end)).Size;
        return new LogPosition(end);
    }

    /// <summary>The follower's directory is lost, or too old: another one is copied, files first.</summary>
    private void Newcomer()
    {
        int tries = 1;
        while (!TryNewcomer())
            Assert.True(tries++ < 100, $"{_leader.Watermarks}: nothing that can be copied");
    }

    /// <returns>False when the leader has packed or removed meanwhile what was about to be copied.</returns>
    private bool TryNewcomer()
    {
        Count("newcomer");
        _follower!.Dispose();
        _disks[1 - _leads] = new SimulatedDisk();
        _follower = Replica.Create(FollowerDisk, _leader);
        try
        {
            CopyAll();
            while (Replica.FeedOnce(_leader, _follower, 64 << 10))
            {
            }
        }
        catch (Exception exception) when (exception is KeyNotFoundException or ReplicaException)
        {
            return false;
        }

        _follower.Sync();
        return true;
    }

    /// <summary>What the leader lists, in that order.</summary>
    private void CopyAll()
    {
        _follower!.BeginCopying();
        LeaderFiles listing = _leader.ListFiles();
        foreach ((string name, _) in listing.Files.Where(file => _follower.Needs(file.Name)))
        {
            Copy(Path.Combine(Replica.Logs, name), listing.Settled);
            Count($"newcomer's {Path.GetExtension(name)}");
        }

        if (_follower.Tail.End < listing.Begin)
        {
            // All that the leader has is the segment that it writes, and that one does not begin the log.
            Count("newcomer without old files");
            _follower.BeginAt(listing.Begin);
        }

        if (_follower.EndCopying(listing.Begin) is { } missing)
            throw new ReplicaException(missing);
    }

    private void Copy(string path, LogPosition committed)
    {
        using ReplicaCopy copy = _follower!.BeginCopy(Path.GetFileName(path));
        copy.Write(LeaderDisk.ReadAll(path));
        copy.Complete(committed);
    }

    /// <summary>Commits everything and compares what the leader says with what its bytes say.</summary>
    private async Task CheckAsync()
    {
        await SettleAsync();
        FeedAll();
        _follower!.Sync();
        await CommitAsync();
        LogWatermarks marks = _leader.Watermarks;
        if (marks.Visible != marks.Staged)
            return; // the keeper has staged something meanwhile
        var model = ReplicaModel.Of([.. _committed]);
        Assert.Equal(model.State, _state.ToString());
        Assert.Equal(model.Queues.Keys.Order(), _leader.Queues.Select(view => view.Id.Value).Order());
        foreach ((uint id, ReplicaModel.QueueModel expected) in model.Queues)
        {
            Assert.True(_leader.TryGetQueue(new QueueId(id), out QueueView view));
            Assert.Equal((expected.Start, expected.End), (view.Start.Value, view.End.Value));
            List<TestBatch.Entry> found = await StoreTest.ReadAllAsync(_leader, new QueueId(id), expected.Start);
            Assert.Equal(
                expected.Batches.Where(batch => batch.Offset >= expected.Start).Select(batch => Convert.ToHexString(batch.Bytes)),
                found.Select(entry => Convert.ToHexString(entry.Batch)));
        }

        Count("checked");
    }
}
