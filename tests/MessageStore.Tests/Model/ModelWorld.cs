using System.Diagnostics;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>One store on a simulated disk and its model beside it: the steps, and what both share.</summary>
/// <remarks>
/// One driver calls the store, so the order of its calls is the order of the log: the model is the list of entries that
/// were staged, and what a crash leaves must be a first part of that list that holds everything acknowledged. What a
/// step does depends on seed and step alone; when the store's own threads do their part does not.
/// Other parts: <c>.Appends.cs</c>, <c>.Reads.cs</c>, <c>.Faults.cs</c>, <c>.Check.cs</c>.
/// </remarks>
internal sealed partial class ModelWorld : IAsyncDisposable
{
    public const int MaxProducers = 5;

    private const string Folder = "/model/store";
    private const long FirstMs = 1_700_000_000_000;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan SegmentMaxAge = TimeSpan.FromMinutes(1);

    private readonly int _seed;
    private readonly FlushPolicy _policy;
    private readonly bool _clockStepsBack;
    private readonly TimeSpan _flushInterval;
    private readonly Histogram _histogram;
    private readonly CancellationToken _cancel;
    private readonly FaultPlan _faults;
    private readonly ManualTime _time = new(FirstMs);
    private readonly (string Name, int Weight, Func<Task> Run)[] _steps;
    private readonly int _weights;

    private readonly List<LogEvent> _events = [];
    private readonly List<Pending> _pending = [];
    private readonly List<Watching> _watches = [];
    private Random _random;
    private ModelState _model = new();
    private MemoryState _machine = new();
    private SimulatedDisk _disk = new();
    private QueueStore? _store;
    private long _lastStoredMs;
    private int _version;

    /// <summary>Entries before these places must be there after the death of the process, and after a power
    /// cut.</summary>
    private int _writtenFloor;
    private int _durableFloor;

    private ModelWorld(int seed, Histogram histogram, CancellationToken cancel)
    {
        _seed = seed;
        _random = RandomOf(step: -1);
        _policy = seed % 2 == 0 ? FlushPolicy.Sync : FlushPolicy.Async;
        _clockStepsBack = seed % 4 >= 2;
        _flushInterval = TimeSpan.FromMilliseconds(seed % 3 == 0 ? 40 : 2);
        _histogram = histogram;
        _cancel = cancel;
        _faults = new FaultPlan(histogram);
        _steps =
        [
            ("append: messages", 390, AppendMessagesAsync),
            ("append: of a producer", 160, AppendOfProducerAsync),
            ("append: state", 80, AppendStateAsync),
            ("queues: open", 12, OpenQueuesAsync),
            ("queues: remove", 5, RemoveQueueAsync),
            ("queues: move starts", 14, MoveStartsAsync),
            ("producer: init", 18, InitProducerAsync),
            ("read: any offset", 110, ReadAsync),
            ("read: by time", 30, FindTimeAsync),
            ("watch", 30, WatchAsync),
            ("unwatch", 6, UnwatchAsync),
            ("settle", 24, SettleAsync),
            ("roll by age", 16, AgeAsync),
            ("crash: kill", 28, KillAsync),
            ("crash: power cut", 32, CutPowerAsync),
            ("crash: while opening", 6, CrashWhileOpeningAsync),
            ("reopen: clean", 12, ReopenCleanlyAsync),
            ("inject: no room", 10, FillAsync),
            ("inject: below the reserve", 3, TakeRoomAsync),
            ("inject: failing write", 6, BreakWriteAsync),
            ("inject: failing sync", 7, BreakSyncAsync),
            ("inject: slow calls", 8, SlowAsync),
        ];
        _weights = _steps.Sum(step => step.Weight);
    }

    private QueueStore Store => _store!;

    /// <summary>Lives so many steps and ends with a crash.</summary>
    public static async Task RunAsync(int seed, int steps, Histogram histogram, CancellationToken cancel)
    {
        await using var world = new ModelWorld(seed, histogram, cancel);
        int step = -1;
        string name = "open";
        try
        {
            await world.ReopenAsync(isPowerCut: false);
            await world.OpenQueuesAsync();
            await world.InitProducerAsync();
            for (step = 0; step < steps; step++)
            {
                name = world.Draw(step, out Func<Task> run);
                histogram.Count($"step {name}");
                await run();
                await world.AfterStepAsync();
            }

            name = "the last crash";
            await world.CutPowerAsync();
        }
        catch (Exception exception) when (exception is not OperationCanceledException || !cancel.IsCancellationRequested)
        {
            throw new InvalidOperationException(
                $"seed {seed}, step {step} ({name}), {world._policy}: {exception.Message}\nRepeat: EQUEUE_MODEL_SEED="
                + $"{seed} EQUEUE_MODEL_STEPS={step + 1} EQueue.MessageStore.Tests --filter-class '*StoreModelTests'"
                + $"\n{world.DescribeFiles()}",
                exception);
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_store is not null)
        {
            _faults.Clear();
            _disk.Kill();
            await _store.DisposeAsync();
        }

        _faults.Dispose();
    }

    private StoreOptions Options => new()
    {
        DataDirectory = Folder,
        FlushPolicy = _policy,
        FlushInterval = _flushInterval,
        SegmentSizeBytes = StoreOptions.SmallestSegmentBytes,
        SegmentMaxAge = SegmentMaxAge,
        TailMemoryBytes = 64 << 10,
        MaxBatchBytes = 8 << 10,
        SnapshotInterval = TimeSpan.FromSeconds(1),
        SnapshotStateBytes = 64 << 10,
        ReserveBytes = 64 << 10,
        ReaderThreads = 1,
        // With a clock that steps back nobody can say which producer was silent longest.
        MaxProducers = _clockStepsBack ? 1_000 : MaxProducers,
        ProducerIds = () => _model.NextProducer,
        Disk = _disk,
    };

    private Random RandomOf(int step) => new((int)((((long)_seed * 1_000_003) + step) * 2_654_435_761 % int.MaxValue));

    private string Draw(int step, out Func<Task> run)
    {
        _random = RandomOf(step);
        _time.UnixMs += _clockStepsBack && _random.Next(20) == 0 ? -_random.Next(5_000) : _random.Next(1, 200);
        int drawn = _random.Next(_weights);
        foreach ((string name, int weight, Func<Task> candidate) in _steps)
        {
            drawn -= weight;
            if (drawn < 0)
            {
                run = candidate;
                return name;
            }
        }

        throw new UnreachableException();
    }

    /// <summary>Learns what was answered meanwhile, and reopens a store that failed.</summary>
    private async Task AfterStepAsync()
    {
        TakeAnswers();
        LogWatermarks marks = Store.Watermarks;
        Assert.True(
            marks.Begin <= marks.Durable && marks.Durable <= marks.Written && marks.Written <= marks.Staged
            && marks.Visible <= marks.Written,
            $"the watermarks are out of order: {marks}");
        if (Store.Completion.IsFaulted)
            await ReopenLatchedAsync();
    }

    /// <summary>Takes the answers that have come.</summary>
    private void TakeAnswers()
    {
        foreach (Pending pending in _pending.Where(one => one.Task.IsCompleted).ToArray())
        {
            _pending.Remove(pending);
            Assert.True(pending.Waiter is null or { Calls: 1 }, "a waiter was called more than once");
            if (!pending.Task.IsCompletedSuccessfully)
            {
                Assert.True(_faults.MayLatch || _isEnding, $"an append failed: {pending.Task.Exception?.Message}");
                _histogram.Count("answer: unknown");
                continue;
            }

            pending.Learn?.Invoke();
            Vouch(pending.EndIndex, pending.IsDurable);
        }
    }

    /// <summary>The store has said or shown that it has the entries before an index.</summary>
    private void Vouch(int endIndex, bool isDurable)
    {
        _writtenFloor = Math.Max(_writtenFloor, endIndex);
        if (isDurable)
            _durableFloor = Math.Max(_durableFloor, endIndex);
    }

    private void Add(LogEvent entry)
    {
        entry.Index = _events.Count;
        _events.Add(entry);
        entry.ApplyTo(_model);
    }

    private bool IsDurable(Durability durability) =>
        durability == Durability.Durable || (durability == Durability.Policy && _policy == FlushPolicy.Sync);

    private T Pick<T>(IReadOnlyList<T> items) => items[_random.Next(items.Count)];

    private ModelQueue? PickQueue() =>
        _model.Queues.Count == 0 ? null : Pick([.. _model.Queues.Values.OrderBy(queue => queue.Id)]);

    private Task<QueueStore> OpenStoreAsync() =>
        QueueStore.OpenAsync(Options, _machine, NullLoggerFactory.Instance, _time, _cancel).WaitAsync(Deadline, _cancel);
}
