using EQueue.MessageStore;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Micro;

/// <summary>A store in a fresh directory with some queues of the same batch, which goes with it.</summary>
internal sealed class SampleStore
{
    /// <summary>Requests under way: with the largest batches 4 MB, which the store always has room for.</summary>
    private const int RequestsUnderWay = 8;

    private readonly string _directory = Directory.CreateTempSubdirectory("equeue-micro-").FullName;
    private readonly CountedWaiter[] _waiters = new CountedWaiter[RequestsUnderWay];
    private readonly AppendItem[] _items;

    /// <param name="queues">Each request appends the batch to every one of them.</param>
    public SampleStore(int queues, byte[] batch)
    {
        for (int i = 0; i < RequestsUnderWay; i++)
            _waiters[i] = new CountedWaiter();
        var options = new StoreOptions { DataDirectory = _directory, FlushPolicy = FlushPolicy.Async };
        Store = QueueStore.OpenAsync(
            options, new NoState(), NullLoggerFactory.Instance, TimeProvider.System, default).GetAwaiter().GetResult();
        Queues = Store.OpenQueuesAsync(TopicId.NewId(), 0, queues, [], default).GetAwaiter().GetResult();
        _items = [.. Queues.Select(
            queue => new AppendItem { Queue = queue, Batch = batch, TagBits = uint.MaxValue })];
    }

    public QueueStore Store { get; }

    public QueueId[] Queues { get; }

    /// <summary>Appends the batch to every queue, so many times, until all is written.</summary>
    public void Append(int requests)
    {
        for (int i = 0; i < requests; i++)
        {
            CountedWaiter waiter = _waiters[i % RequestsUnderWay];
            waiter.Wait();
            waiter.Begin();
            if (Store.Append(_items, Durability.Policy, waiter) != AppendStatus.Accepted)
                throw new InvalidOperationException($"The store refused request {i}: {_items[0].Error}.");
        }

        foreach (CountedWaiter waiter in _waiters)
            waiter.Wait();
    }

    /// <summary>Closes and removes it.</summary>
    public void Remove()
    {
        Store.DisposeAsync().AsTask().GetAwaiter().GetResult();
        Directory.Delete(_directory, recursive: true);
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
