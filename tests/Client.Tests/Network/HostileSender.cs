using System.Buffers.Binary;
using System.Diagnostics;

namespace EQueue.Client.Tests.Network;

/// <summary>What became of one send.</summary>
internal sealed record SendOutcome(int Value, SendReceipt? Receipt, Exception? Failure, TimeSpan Took);

/// <summary>Sends the values of one sender in order, some with keys, by every kind of call.</summary>
internal sealed class HostileSender(int number, HostileSettings settings, Producer producer, string topic)
{
    private readonly Random _random = new(unchecked((settings.Seed * 17) + number));
    private readonly List<Task<SendOutcome[]>> _sends = [];
    private int _next;

    /// <summary>Sender and place in its order, in one number.</summary>
    public static int ValueOf(int sender, int index) => (sender * 1_000) + index;

    /// <summary>The body of a value: the value, and bytes that follow from it.</summary>
    public static byte[] Body(int value)
    {
        var random = new Random(value);
        byte[] body = new byte[sizeof(int) + (random.Next(20) == 0 ? random.Next(12_000) : random.Next(300))];
        random.NextBytes(body);
        BinaryPrimitives.WriteInt32LittleEndian(body, value);
        return body;
    }

    public static string? KeyOf(int value) => value % 3 == 0 ? null : $"k{value / 1_000}-{value % 5}";

    public async Task<SendOutcome[]> RunAsync()
    {
        while (_next < settings.MessagesOfSender)
        {
            int count = Math.Min(_random.Next(1, 9), settings.MessagesOfSender - _next);
            int[] values = [.. Enumerable.Range(_next, count).Select(index => ValueOf(number, index))];
            _next += count;
            await SendAsync(values);
        }

        return [.. (await Task.WhenAll(_sends)).SelectMany(static some => some)];
    }

    private async Task SendAsync(int[] values)
    {
        switch (_random.Next(6))
        {
            case 0:
                _sends.Add(BatchAsync(values));
                break;
            case 1:
                foreach (int value in values)
                    _sends.Add(CallbackAsync(value));
                break;
            case 2:
                // Blocks a thread that is not needed.
                await Task.Factory.StartNew(
                    () => _sends.Add(Blocking(values[0])), TaskCreationOptions.LongRunning);
                values = values[1..];
                goto default;
            default:
                foreach (int value in values)
                    _sends.Add(SingleAsync(value));
                break;
        }

        if (_random.Next(4) == 0)
            await Task.WhenAll(_sends);
    }

    private async Task<SendOutcome[]> SingleAsync(int value)
    {
        long started = Stopwatch.GetTimestamp();
        try
        {
            SendReceipt receipt = await producer.SendAsync(topic, Body(value).AsMemory(), KeyOf(value));
            return [Done(value, receipt, started)];
        }
        catch (Exception exception)
        {
            return [Failed(value, exception, started)];
        }
    }

    private Task<SendOutcome[]> Blocking(int value)
    {
        long started = Stopwatch.GetTimestamp();
        try
        {
            return Task.FromResult<SendOutcome[]>(
                [Done(value, producer.Send(topic, Body(value), KeyOf(value)), started)]);
        }
        catch (Exception exception)
        {
            return Task.FromResult<SendOutcome[]>([Failed(value, exception, started)]);
        }
    }

    private Task<SendOutcome[]> CallbackAsync(int value)
    {
        long started = Stopwatch.GetTimestamp();
        var outcome = new TaskCompletionSource<SendOutcome[]>(TaskCreationOptions.RunContinuationsAsynchronously);
        try
        {
            producer.Send(
                topic,
                new Message(Body(value), KeyOf(value)),
                (_, receipt, error) => outcome.SetResult(
                    [error is null ? Done(value, receipt, started) : Failed(value, error, started)]));
        }
        catch (Exception exception) when (exception is EQueueException or ObjectDisposedException)
        {
            outcome.SetResult([Failed(value, exception, started)]);
        }

        return outcome.Task;
    }

    private async Task<SendOutcome[]> BatchAsync(int[] values)
    {
        long started = Stopwatch.GetTimestamp();
        try
        {
            BatchReceipt receipts = await producer.SendBatchAsync(
                topic, [.. values.Select(static value => new Message(Body(value), KeyOf(value)))]);
            return [.. values.Zip(receipts, (value, receipt) => Done(value, receipt, started))];
        }
        catch (Exception exception)
        {
            return [.. values.Select(value => Failed(value, exception, started))];
        }
    }

    private static SendOutcome Done(int value, SendReceipt receipt, long started) =>
        new(value, receipt, null, Stopwatch.GetElapsedTime(started));

    private static SendOutcome Failed(int value, Exception failure, long started) =>
        new(value, null, failure, Stopwatch.GetElapsedTime(started));
}
