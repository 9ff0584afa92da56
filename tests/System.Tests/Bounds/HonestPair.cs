using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace EQueue.System.Tests.Bounds;

/// <summary>A producer and a consumer that do nothing wrong beside those who do: numbers go out one after the other and
/// must come in order, each, and soon.</summary>
internal sealed class HonestPair : IAsyncDisposable
{
    private const string Topic = "honest";
    private const string Key = "one";

    private readonly EQueueClient _client;
    private readonly CancellationTokenSource _stopping = new();
    private readonly ConcurrentQueue<double> _latenciesMs = new();
    private readonly BackgroundMember _member;
    private readonly Task _sending;
    private int _sent;
    private int _next;
    private string? _fault;

    public HonestPair(string address)
    {
        _client = new EQueueClient(address);
        _member = new BackgroundMember(_client, "honest", Topic, TakeAsync);
        _sending = SendAsync();
    }

    public int Sent => Volatile.Read(ref _sent);

    /// <summary>Numbers that came, in order.</summary>
    public int Received => Volatile.Read(ref _next);

    /// <summary>What was out of order, lost or refused; null = nothing.</summary>
    public string? Fault => Volatile.Read(ref _fault);

    /// <summary>From a send to its message at the consumer.</summary>
    public double PercentileMs(double part)
    {
        double[] sorted = [.. _latenciesMs.Order()];
        return sorted.Length == 0 ? double.NaN : sorted[(int)((sorted.Length - 1) * part)];
    }

    /// <summary>Sends no more.</summary>
    public async Task StopSendingAsync()
    {
        await _stopping.CancelAsync();
        await _sending;
    }

    public async ValueTask DisposeAsync()
    {
        await StopSendingAsync();
        await _member.DisposeAsync();
        await _client.DisposeAsync();
        _stopping.Dispose();
    }

    private async Task SendAsync()
    {
        await using Producer producer = _client.CreateProducer();
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(10));
        try
        {
            while (!_stopping.IsCancellationRequested)
            {
                string body = string.Create(CultureInfo.InvariantCulture, $"{_sent} {Stopwatch.GetTimestamp()}");
                await producer.SendAsync(
                    Topic, Encoding.ASCII.GetBytes(body), Key, cancellationToken: CancellationToken.None);
                Interlocked.Increment(ref _sent);
                await pace.WaitForNextTickAsync(CancellationToken.None);
            }
        }
        catch (Exception exception)
        {
            Volatile.Write(ref _fault, $"The send of {_sent} failed: {exception.Message}");
        }
    }

    private ValueTask<bool> TakeAsync(ReceivedMessage message, CancellationToken cancellationToken)
    {
        string[] parts = Encoding.ASCII.GetString(message.Body.Span).Split(' ');
        int number = int.Parse(parts[0], CultureInfo.InvariantCulture);
        if (number == _next)
        {
            _latenciesMs.Enqueue(
                Stopwatch.GetElapsedTime(long.Parse(parts[1], CultureInfo.InvariantCulture)).TotalMilliseconds);
            Volatile.Write(ref _next, number + 1);
        }
        else if (number > _next)
        {
            Volatile.Write(ref _fault, $"{number} came where {_next} was due.");
        }

        return ValueTask.FromResult(true);
    }
}
