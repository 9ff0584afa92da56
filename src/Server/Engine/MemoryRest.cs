using EQueue.Remoting;

namespace EQueue.Server.Engine;

/// <summary>Gives memory back to the system when a flood is over: the garbage collector alone does so only when
/// the program allocates again.</summary>
/// <remarks>A small heap is compacted in a quiet moment for each growth that it has not come back from, and once more
/// when the moment lasts: some of it is held until a time-out. A large one is not: its pause would be felt.</remarks>
internal sealed class MemoryRest(BrokerService broker, TimeProvider time) : IHostedService, IDisposable
{
    private const long GrowthBytes = 16L << 20;
    private const long LargeHeapBytes = 256L << 20;

    /// <summary>A quiet moment has fewer requests at each of so many looks: who comes last has gone by then.</summary>
    private const long QuietRequests = 500;
    private const int QuietLooks = 3;

    /// <summary>Half a minute later nothing of the flood is held any more.</summary>
    private const int AgainLooks = QuietLooks + 10;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(3);

    private ITimer? _timer;
    private long _restedBytes;
    private long _requests;
    private int _quietLooks;
    private bool _isAgainDue;

    public Task StartAsync(CancellationToken cancellationToken)
    {
        _restedBytes = GC.GetGCMemoryInfo().TotalCommittedBytes;
        _timer = time.CreateTimer(static rest => ((MemoryRest)rest!).Look(), this, Interval, Interval);
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken)
    {
        Dispose();
        return Task.CompletedTask;
    }

    public void Dispose() => _timer?.Dispose();

    private void Look()
    {
        if (broker.Serving is not { } serving)
            return;
        long requests = serving.RequestCount;
        _quietLooks = requests - _requests < QuietRequests ? _quietLooks + 1 : 0;
        _requests = requests;
        if (_quietLooks < QuietLooks)
            return;
        GCMemoryInfo heap = GC.GetGCMemoryInfo();
        _restedBytes = Math.Min(_restedBytes, heap.TotalCommittedBytes);
        bool isAgain = _isAgainDue && _quietLooks == AgainLooks;
        if (heap.TotalCommittedBytes - _restedBytes < GrowthBytes && !isAgain)
            return;
        _isAgainDue = !isAgain && _quietLooks < AgainLooks;
        if (heap.HeapSizeBytes - heap.FragmentedBytes < LargeHeapBytes)
        {
            FrameBuffer.ReleaseKept();
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        }

        _restedBytes = GC.GetGCMemoryInfo().TotalCommittedBytes;
    }
}
