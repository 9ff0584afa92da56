using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Lets the oldest messages of a full memory go, so that appends that wait for room get it.</summary>
/// <remarks>
/// Asleep until the log says that it is full. One decision at a time, each for as many bytes as are missing: what it
/// let go of and the cleaner has not removed yet counts as room, so nothing goes that need not.
/// </remarks>
internal sealed class OldestOut : IAsyncDisposable
{
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(20);

    private readonly CommitLog _log;
    private readonly Func<CancellationToken, Task<int>> _letGo;
    private readonly ILogger _logger;
    private readonly SemaphoreSlim _full = new(0, 1);
    private readonly CancellationTokenSource _stopping = new();
    private readonly Task _loop;

    /// <summary>Starts to watch.</summary>
    /// <param name="log">Whose memory.</param>
    /// <param name="letGo">Moves the starts of queues past the oldest messages; tells how many moved.</param>
    /// <param name="logger">For what went wrong.</param>
    public OldestOut(CommitLog log, Func<CancellationToken, Task<int>> letGo, ILogger logger)
    {
        (_log, _letGo, _logger) = (log, letGo, logger);
        log.Filled = Wake;
        Wake();
        _loop = RunAsync();
    }

    /// <summary>Waits for the decision under way.</summary>
    public async ValueTask DisposeAsync()
    {
        _log.Filled = null;
        await _stopping.CancelAsync();
        await _loop;
        _stopping.Dispose();
    }

    private void Wake()
    {
        lock (_full)
        {
            if (_full.CurrentCount == 0)
                _full.Release();
        }
    }

    private async Task RunAsync()
    {
        try
        {
            while (true)
            {
                await _full.WaitAsync(_stopping.Token);
                while (_log.IsReadOnly && _log.Fault is null)
                {
                    await MakeRoomAsync();
                    await Task.Delay(Pause, _stopping.Token);
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The store closes.
        }
    }

    private async Task MakeRoomAsync()
    {
        try
        {
            await _letGo(_stopping.Token);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            Log.OldestStay(_logger, exception);
        }
    }
}
