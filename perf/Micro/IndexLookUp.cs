using System.Buffers;
using BenchmarkDotNet.Attributes;

namespace EQueue.Micro;

/// <summary>
/// Cost of finding the batch that holds an offset, at random among the batches of a queue in the segment being written,
/// and of reading it from memory.
/// </summary>
[MemoryDiagnoser]
public class IndexLookUp
{
    private const int LookUps = 1000;
    private const int RecordsOfBatch = 3;

    private readonly QueueOffset[] _wanted = new QueueOffset[LookUps];
    private readonly ArrayBufferWriter<byte> _bytes = new(4096);
    private long[] _firstOffsets = [];
    private SampleStore? _store;
    private QueueId _queue;

    /// <summary>Batches of the queue.</summary>
    [Params(1_000, 50_000)]
    public int Batches { get; set; }

    /// <summary>Fills the queue.</summary>
    [GlobalSetup]
    public void Prepare()
    {
        _store = new SampleStore(queues: 1, Sample.Batch(RecordsOfBatch, new RecordContent { Body = Sample.Bytes(16) }));
        _store.Append(Batches);
        _queue = _store.Queues[0];
        _firstOffsets = [.. Enumerable.Range(0, Batches).Select(batch => (long)batch * RecordsOfBatch)];
        var random = new Random(7);
        for (int i = 0; i < LookUps; i++)
            _wanted[i] = new QueueOffset(random.Next(Batches * RecordsOfBatch));
    }

    /// <summary>Removes the store.</summary>
    [GlobalCleanup]
    public void Remove() => _store!.Remove();

    /// <summary>A sorted array of all first offsets: what a look-up costs that need not share its memory.</summary>
    [Benchmark(Baseline = true, OperationsPerInvoke = LookUps)]
    public int BinarySearch()
    {
        int sum = 0;
        foreach (QueueOffset offset in _wanted)
            sum += Array.BinarySearch(_firstOffsets, offset.Value);
        return sum;
    }

    [Benchmark(OperationsPerInvoke = LookUps)]
    public async Task<long> FindStoredTimeAsync()
    {
        long sum = 0;
        foreach (QueueOffset offset in _wanted)
            sum += (await _store!.Store.FindStoredTimeAsync(_queue, offset, CancellationToken.None))!.Value;
        return sum;
    }

    [Benchmark(OperationsPerInvoke = LookUps)]
    public int Read_OneBatch()
    {
        int sum = 0;
        foreach (QueueOffset offset in _wanted)
        {
            _bytes.ResetWrittenCount();
            sum += _store!.Store.Read(_queue, offset, 1, _bytes).Size;
        }

        return sum;
    }
}
