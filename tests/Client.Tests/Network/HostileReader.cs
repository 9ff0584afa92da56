using System.Buffers.Binary;

namespace EQueue.Client.Tests.Network;

/// <summary>A member of a group that reads over a hostile network, and begins its loop again after what passes.</summary>
internal sealed class HostileReader : IAsyncDisposable
{
    private readonly EQueueClient _client;
    private readonly Consumer _consumer;
    private readonly CancellationTokenSource _stop = new();
    private readonly Dictionary<int, long> _ends = [];
    private readonly Lock _lock = new();
    private readonly HashSet<int> _values = [];
    private readonly Task _reading;

    public HostileReader(HostileSettings settings, string address, string topic, RunLog log)
    {
        _client = new EQueueClient(settings.Client(address, log));
        _consumer = _client.CreateConsumer("group-" + topic, [topic], settings.Consumer);
        _reading = Task.Run(ReadAsync);
        WasAlone = settings.Members == 1;
    }

    /// <summary>Completes only when the loop failed.</summary>
    public Task Reading => _reading;

    public Consumer Consumer => _consumer;

    public EQueueClient Client => _client;

    /// <summary>The first thing that was wrong in what came; null = nothing.</summary>
    public string? Wrong { get; private set; }

    private bool WasAlone { get; }

    public int[] Values
    {
        get
        {
            lock (_lock)
                return [.. _values];
        }
    }

    /// <summary>Ends the loop, commits and leaves.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAny(_reading);
        await _client.DisposeAsync();
    }

    private async Task ReadAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                await foreach (ReceivedMessage message in _consumer.ReadAllAsync(_stop.Token))
                    Take(message);
            }
            catch (OperationCanceledException) when (_stop.IsCancellationRequested)
            {
                // Stopped.
            }
            catch (EQueueException exception) when (exception.IsRetriable)
            {
                // An application would log it and begin again.
            }
        }
    }

    private void Take(in ReceivedMessage message)
    {
        int value = BinaryPrimitives.ReadInt32LittleEndian(message.Body.Span);
        if (!message.Body.Span.SequenceEqual(HostileSender.Body(value)) || message.KeyText != HostileSender.KeyOf(value))
            Wrong ??= $"{message.Queue}/{message.Offset} came changed";
        long end = _ends.GetValueOrDefault(message.Queue);

        // Alone in its group a member may get something again, and never passes over anything.
        if (WasAlone && message.Offset.Value > end)
            Wrong ??= $"queue {message.Queue} went from offset {end} to {message.Offset.Value}";
        _ends[message.Queue] = Math.Max(end, message.Offset.Value + 1);
        lock (_lock)
            _values.Add(value);
    }
}
