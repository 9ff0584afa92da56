using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>Sends one message after the other, each when the one before is acknowledged, and says for how long none
/// was.</summary>
internal sealed class AckProbe : IAsyncDisposable
{
    private const string Topic = "probe";

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(2);

    private readonly EQueueClient _client;
    private readonly Producer _producer;
    private readonly CancellationTokenSource _enough = new();
    private readonly Lock _lock = new();
    private readonly Task _sending;
    private long _acknowledgedNs;
    private long _longestNs;
    private long _waitsFromNs = long.MaxValue;
    private TaskCompletionSource? _waiting;
    private long _acknowledged;

    private AckProbe(EQueueClient client)
    {
        _client = client;
        _producer = client.CreateProducer();
        _sending = Task.Run(SendAsync);
    }

    /// <param name="client">Of the cluster; stays the caller's.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public static async Task<AckProbe> StartAsync(EQueueClient client, CancellationToken cancellationToken)
    {
        await client.Admin.CreateTopicAsync(Topic, new TopicSettings { QueueCount = 1 }, cancellationToken);
        return new AckProbe(client);
    }

    /// <summary>From now on the longest time without an acknowledgement counts.</summary>
    public void Begin()
    {
        lock (_lock)
        {
            _acknowledgedNs = Clock.NowNs;
            _longestNs = 0;
        }
    }

    /// <summary>Waits for the first acknowledgement of a message that was sent from now on.</summary>
    /// <returns>The longest time without one since <see cref="Begin"/>, in nanoseconds.</returns>
    /// <exception cref="TimeoutException">None came.</exception>
    public async Task<long> EndAsync(TimeSpan patience, CancellationToken cancellationToken)
    {
        TaskCompletionSource waiting = new(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (_lock)
        {
            _waitsFromNs = Clock.NowNs;
            _waiting = waiting;
        }

        if (await Task.WhenAny(waiting.Task, _sending).WaitAsync(patience, cancellationToken) == _sending)
            throw LoadException.Failed($"the probe ended: {_sending.Exception?.InnerException?.Message}");
        lock (_lock)
            return _longestNs;
    }

    /// <summary>Ends the sending.</summary>
    /// <returns>Acknowledged messages that are not stored, and stored ones that were never sent.</returns>
    public async Task<(long Missing, long Repeated)> JudgeAsync(CancellationToken cancellationToken)
    {
        await _enough.CancelAsync();
        await _sending;
        QueueOffset begin = await _client.Admin.FindOffsetAsync(Topic, 0, StartPosition.Begin, cancellationToken);
        QueueOffset end = await _client.Admin.FindOffsetAsync(Topic, 0, StartPosition.End, cancellationToken);
        long stored = end.Value - begin.Value;
        return (Math.Max(0, _acknowledged - stored), Math.Max(0, stored - _acknowledged));
    }

    public async ValueTask DisposeAsync()
    {
        await _enough.CancelAsync();
        await _producer.DisposeAsync();
        await _sending.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _enough.Dispose();
    }

    private async Task SendAsync()
    {
        byte[] body = new byte[16];
        while (!_enough.IsCancellationRequested)
        {
            long sentNs = Clock.NowNs;
            await _producer.SendAsync(Topic, (ReadOnlySpan<byte>)body);
            _acknowledged++;
            Tell(sentNs);
            await Task.Delay(Pause);
        }
    }

    private void Tell(long sentNs)
    {
        lock (_lock)
        {
            long now = Clock.NowNs;
            _longestNs = Math.Max(_longestNs, now - _acknowledgedNs);
            _acknowledgedNs = now;
            if (sentNs < _waitsFromNs)
                return;
            _waitsFromNs = long.MaxValue;
            _waiting!.TrySetResult();
        }
    }
}
