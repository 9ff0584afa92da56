using System.Buffers.Binary;
using System.Diagnostics;
using EQueue.Cli.Sending;

namespace EQueue.Cli.Measuring;

/// <summary>Sends to a topic and reads what was sent at the same time, and counts every message.</summary>
/// <remarks>A body begins with the message's number and the moment of its send, 8 bytes each, little-endian.</remarks>
internal sealed class SelfTest(EQueueClient client, string topic, int size, int? rate)
{
    public const int LeastSize = 16;

    /// <summary>Messages that may be sent and not yet acknowledged.</summary>
    private const int Window = 1_000;

    private readonly LatencyCounts _ack = new();
    private readonly LatencyCounts _endToEnd = new();
    private readonly TaskCompletionSource _allSent = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private byte[] _seen = new byte[64 << 10];
    private long _sent = -1;
    private long _received;
    private long _repeated;
    private long _lastReceived;

    /// <param name="duration">How long to send.</param>
    /// <param name="patience">How long the last messages may take to come back.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">A send or the reader failed.</exception>
    public async Task<SelfTestResult> RunAsync(
        TimeSpan duration, TimeSpan patience, CancellationToken cancellationToken)
    {
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync(topic, StartPosition.Begin, cancellationToken);
        Task reading = ReadAsync(reader, ending.Token);
        long started = Stopwatch.GetTimestamp();
        try
        {
            await SendAsync(duration, patience, started, reading, cancellationToken);
            if (Volatile.Read(ref _received) >= _sent)
                _allSent.TrySetResult();
            if (await Task.WhenAny(_allSent.Task, reading, Task.Delay(patience, cancellationToken)) == reading)
                await reading;
            cancellationToken.ThrowIfCancellationRequested();
        }
        finally
        {
            await ending.CancelAsync();
            await ((Task)reading).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        TimeSpan elapsed = _received == 0 ? TimeSpan.Zero : Stopwatch.GetElapsedTime(started, _lastReceived);
        return new SelfTestResult(_sent, _received, _repeated, elapsed, _ack, _endToEnd);
    }

    private async Task SendAsync(
        TimeSpan duration, TimeSpan patience, long started, Task reading, CancellationToken cancellationToken)
    {
        await using Producer producer = client.CreateProducer(
            new ProducerOptions { AutoCreateTopics = false, DeliveryTimeout = patience });
        Pacer? pacer = rate is { } perSecond ? new Pacer(perSecond, TimeProvider.System) : null;
        var underWay = new Queue<Task>(Window);
        byte[] body = new byte[size];
        Random.Shared.NextBytes(body);
        long number = 0;
        try
        {
            while (Stopwatch.GetElapsedTime(started) < duration && !reading.IsCompleted)
            {
                cancellationToken.ThrowIfCancellationRequested();
                if (pacer is not null)
                    await pacer.WaitAsync(cancellationToken);
                if (underWay.Count == Window)
                    await underWay.Dequeue();
                long now = Stopwatch.GetTimestamp();
                BinaryPrimitives.WriteInt64LittleEndian(body, number++);
                BinaryPrimitives.WriteInt64LittleEndian(body.AsSpan(8), now);
                underWay.Enqueue(AcknowledgeAsync(
                    producer.SendAsync(topic, new RecordContent { Body = body }, CancellationToken.None), now));
            }

            while (underWay.Count > 0)
                await underWay.Dequeue();
        }
        finally
        {
            // After a failure: the first one is told, the others are awaited.
            foreach (Task send in underWay)
                await send.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        Volatile.Write(ref _sent, number);
    }

    private async Task AcknowledgeAsync(ValueTask<SendReceipt> send, long sentAt)
    {
        await send;
        TimeSpan latency = Stopwatch.GetElapsedTime(sentAt);
        lock (_ack)
            _ack.Add(latency);
    }

    private async Task ReadAsync(QueueReader reader, CancellationToken cancellationToken)
    {
        await foreach (ReceivedMessage message in reader.ReadAllAsync(cancellationToken))
        {
            _lastReceived = Stopwatch.GetTimestamp();
            ReadOnlySpan<byte> body = message.Body.Span;
            if (Note(BinaryPrimitives.ReadInt64LittleEndian(body)))
            {
                _endToEnd.Add(Stopwatch.GetElapsedTime(
                    BinaryPrimitives.ReadInt64LittleEndian(body[8..]), _lastReceived));
                Interlocked.Increment(ref _received);
            }

            if (_received == Volatile.Read(ref _sent))
                _allSent.TrySetResult();
        }
    }

    /// <returns>Whether the message came for the first time.</returns>
    private bool Note(long number)
    {
        if (number >= _seen.Length)
            Array.Resize(ref _seen, Math.Max((int)number + 1, _seen.Length * 2));
        if (_seen[number]++ == 0)
            return true;
        _repeated++;
        return false;
    }
}
