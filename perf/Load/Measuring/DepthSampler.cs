namespace EQueue.Load.Measuring;

/// <summary>Looks at the backlog of bounded topics, and at the broker's memory, again and again while a run
/// lasts.</summary>
internal sealed class DepthSampler : IAsyncDisposable
{
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(2);

    private readonly EQueueClient _client;
    private readonly IReadOnlyList<string> _topics;
    private readonly CancellationTokenSource _stop = new();
    private readonly List<long> _residentBytes = [];
    private readonly Task _loop;

    public DepthSampler(string server, IReadOnlyList<string> topics)
    {
        _client = LoadClient.To(server);
        _topics = topics;
        _loop = Task.Run(RunAsync);
    }

    /// <summary>The most messages that a topic's backlog had; read it after disposal.</summary>
    public long MaxDepth { get; private set; }

    public int Samples => _residentBytes.Count;

    /// <summary>By how much the most of the last third of the samples is above the most of the first, bytes.</summary>
    public long ResidentGrowth
    {
        get
        {
            int third = Math.Max(1, _residentBytes.Count / 3);
            return _residentBytes.Count == 0
                ? 0
                : _residentBytes.TakeLast(third).Max() - _residentBytes.Take(third).Max();
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _loop;
        await _client.DisposeAsync();
        _stop.Dispose();
    }

    private async Task RunAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                BrokerFigures stats = await _client.Admin.ReadFiguresAsync(_stop.Token);
                foreach (string topic in _topics)
                    MaxDepth = Math.Max(MaxDepth, stats.Find($"backlog.messages{{{topic}}}") ?? 0);
                _residentBytes.Add(stats.Find("process.residentBytes") ?? 0);
                await Task.Delay(Interval, _stop.Token);
            }
            catch (Exception exception) when (
                _stop.IsCancellationRequested && exception is OperationCanceledException or EQueueException)
            {
                // The run is over.
            }
        }
    }
}
