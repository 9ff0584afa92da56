using BenchmarkDotNet.Attributes;
using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Micro;

/// <summary>
/// Cost of one batch, appended four at a time to four queues, until it is written. Allocated counts every thread of the
/// store and must be nothing.
/// </summary>
/// <remarks>
/// An iteration stays inside one block of each queue's index: a new block, 10 KB, is due once in 512 batches of a queue
/// and holds what is known of them, 20 bytes each. It also stays clear of the next segment being made.
/// </remarks>
[MemoryDiagnoser]
[WarmupCount(3)]
[IterationCount(15)]
[InvocationCount(1)]
public class StoreAppend
{
    private const int Queues = 4;
    private const int Requests = 400;

    /// <summary>Fills the first blocks of an index, which are small, and begins the first large one.</summary>
    private const int RequestsBefore = 8 + 64 + 1;

    /// <summary>Requests under way: with the largest batches 4 MB, which the store always has room for.</summary>
    private const int RequestsUnderWay = 8;

    private readonly AppendItem[] _items = new AppendItem[Queues];
    private readonly CountedWaiter[] _waiters = new CountedWaiter[RequestsUnderWay];
    private byte[] _batch = [];
    private string _directory = string.Empty;
    private QueueStore? _store;

    /// <summary>Bodies of 128 B in a batch; 949 are as many as the client puts into one.</summary>
    [Params(1, 100, 949)]
    public int Records { get; set; }

    /// <summary>Encodes the batch.</summary>
    [GlobalSetup]
    public void Prepare()
    {
        _batch = Sample.Batch(Records, new RecordContent { Body = Sample.Bytes(128) });
        for (int i = 0; i < RequestsUnderWay; i++)
            _waiters[i] = new CountedWaiter();
    }

    /// <summary>Opens a new store, and appends until nothing is new to it.</summary>
    [IterationSetup]
    public void Open()
    {
        _directory = Directory.CreateTempSubdirectory("equeue-micro-").FullName;
        var options = new StoreOptions { DataDirectory = _directory, FlushPolicy = FlushPolicy.Async };
        _store = QueueStore.OpenAsync(
            options, new NoState(), NullLoggerFactory.Instance, TimeProvider.System, default).GetAwaiter().GetResult();
        QueueId[] queues = _store.OpenQueuesAsync(TopicId.NewId(), 0, Queues, [], default).GetAwaiter().GetResult();
        for (int i = 0; i < Queues; i++)
            _items[i] = new AppendItem { Queue = queues[i], Batch = _batch, TagBits = uint.MaxValue };
        Append(RequestsBefore);
    }

    /// <summary>Removes the store.</summary>
    [IterationCleanup]
    public void Remove()
    {
        _store!.DisposeAsync().AsTask().GetAwaiter().GetResult();
        Directory.Delete(_directory, recursive: true);
    }

    [Benchmark(OperationsPerInvoke = Requests * Queues)]
    public void Append_128B() => Append(Requests);

    private void Append(int requests)
    {
        for (int i = 0; i < requests; i++)
        {
            CountedWaiter waiter = _waiters[i % RequestsUnderWay];
            waiter.Wait();
            waiter.Begin();
            if (_store!.Append(_items, Durability.Policy, waiter) != AppendStatus.Accepted)
                throw new InvalidOperationException($"The store refused request {i}: {_items[0].Error}.");
        }

        foreach (CountedWaiter waiter in _waiters)
            waiter.Wait();
    }

    /// <summary>Waits by spinning: nothing that parks or is made anew takes part in the measurement.</summary>
    private sealed class CountedWaiter : AppendWaiter
    {
        private bool _isUnderWay;

        public void Begin() => Volatile.Write(ref _isUnderWay, true);

        public void Wait()
        {
            var spin = new SpinWait();
            while (Volatile.Read(ref _isUnderWay))
                spin.SpinOnce();
        }

        protected override void OnCompleted(Exception? fault) => Volatile.Write(ref _isUnderWay, false);
    }

    /// <summary>A store without topics and groups.</summary>
    private sealed class NoState : IStateMachine
    {
        public void Apply(in StateRecord record)
        {
            // The store's own records are enough.
        }

        public IEnumerable<StateEntry> Capture() => [];
    }
}
