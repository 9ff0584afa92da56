using BenchmarkDotNet.Attributes;
using EQueue.Protocol;

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

    private byte[] _batch = [];
    private byte[] _copy = [];
    private SampleStore? _store;

    /// <summary>Bodies of 128 B in a batch; 949 are as many as the client puts into one.</summary>
    [Params(1, 100, 949)]
    public int Records { get; set; }

    /// <summary>Encodes the batch.</summary>
    [GlobalSetup]
    public void Prepare()
    {
        _batch = Sample.Batch(Records, new RecordContent { Body = Sample.Bytes(128) });
        _copy = new byte[_batch.Length];
    }

    /// <summary>Opens a new store, and appends until nothing is new to it.</summary>
    [IterationSetup]
    public void Open()
    {
        _store = new SampleStore(Queues, _batch);
        _store.Append(RequestsBefore);
    }

    /// <summary>Removes the store.</summary>
    [IterationCleanup]
    public void Remove() => _store!.Remove();

    /// <summary>The copy and the CRC alone: what no store can be faster than.</summary>
    [Benchmark(Baseline = true, OperationsPerInvoke = Requests * Queues)]
    public uint CopyAndCrc_128B()
    {
        uint sum = 0;
        for (int i = 0; i < Requests * Queues; i++)
        {
            _batch.CopyTo(_copy, 0);
            sum += Crc32C.Compute(_copy);
        }

        return sum;
    }

    [Benchmark(OperationsPerInvoke = Requests * Queues)]
    public void Append_128B() => _store!.Append(Requests);
}
