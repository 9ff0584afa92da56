using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using EQueue.Support;

namespace EQueue.Client.Tests.Network;

/// <summary>
/// One run: an idempotent producer and a group send and read through a hostile network, which then turns good. What
/// is stored is read back directly and compared.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "The log holds nothing.")]
internal sealed class HostileRun(HostileWorld world, int seed)
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <summary>How much later than its deadline a send may end on a machine that has much to do.</summary>
    private static readonly TimeSpan Lateness = TimeSpan.FromSeconds(8);

    private readonly HostileSettings _settings = new(seed);
    private readonly string _topic = "hostile-" + seed.ToString(CultureInfo.InvariantCulture);
    private readonly List<WeakReference> _made = [];
    private readonly RunLog _log = new();
    private string _phase = "preparing";

    /// <summary>What must be collectable when the run is over.</summary>
    public IReadOnlyList<WeakReference> Made => _made;

    public async Task RunAsync()
    {
        try
        {
            await RunInTimeAsync().WaitAsync(Deadline);
            world.Histogram.Count("runs");
        }
        catch (Exception exception)
        {
            throw new InvalidOperationException(
                $"Seed {seed}, {_phase}: {exception.Message} Again: EQUEUE_PROXY_SEED={seed} EQUEUE_PROXY_RUNS=1"
                + $"{Environment.NewLine}{_settings}{Environment.NewLine}{_log}",
                exception);
        }
    }

    private async Task RunInTimeAsync()
    {
        await world.Direct.Admin.CreateTopicAsync(_topic, new TopicSettings { QueueCount = _settings.Queues });
        await using var proxy = new FaultProxy(world.EndPoint, seed, world.Histogram);
        HostileReader[] readers =
            [.. Enumerable.Range(0, _settings.Members).Select(_ => new HostileReader(_settings, proxy.Address, _topic, _log))];
        try
        {
            SendOutcome[] outcomes = await SendAllAsync(proxy);
            _phase = "reading back";
            List<(int Queue, long Offset, int Value)> stored = await ReadBackAsync();
            CheckSends(outcomes, stored);
            _phase = "waiting for the group to read everything";
            await AwaitReadersAsync(readers, stored);
            _phase = "waiting for the group's progress";
            await AwaitProgressAsync(stored);
            _phase = "disposing the readers";
        }
        finally
        {
            foreach (HostileReader reader in readers)
            {
                await reader.DisposeAsync();
                _made.Add(new WeakReference(reader.Client));
                _made.Add(new WeakReference(reader.Consumer));
            }
        }

        await RemoveAsync();
    }

    private async Task<SendOutcome[]> SendAllAsync(FaultProxy proxy)
    {
        await using var client = new EQueueClient(_settings.Client(proxy.Address, _log));
        await using Producer producer = client.CreateProducer(_settings.Producer);
        _made.Add(new WeakReference(client));
        _made.Add(new WeakReference(producer));
        _phase = "sending";
        Task<SendOutcome[]>[] senders = Enumerable.Range(1, _settings.Senders)
            .Select(number => Task.Run(new HostileSender(number, _settings, producer, _topic).RunAsync))
            .ToArray();
        if (_settings.AbortAfterMs >= 0)
        {
            await proxy.HoldAsync(_settings.AbortAfterMs);
            await producer.AbortAsync();
        }

        await proxy.HoldAsync(_settings.HostileMs - Math.Max(_settings.AbortAfterMs, 0));
        proxy.Mend();
        _phase = "waiting for the sends to end";
        SendOutcome[] outcomes = (await Task.WhenAll(senders)).SelectMany(static some => some).ToArray();
        _phase = "disposing the producer";
        return outcomes;
    }

    private async Task<List<(int Queue, long Offset, int Value)>> ReadBackAsync()
    {
        List<(int Queue, long Offset, int Value)> stored = [];
        await using QueueReader reader = world.Direct.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(_topic, StartPosition.Begin);
        await foreach (ReceivedMessage message in reader.ReadAllAsync())
        {
            int value = BinaryPrimitives.ReadInt32LittleEndian(message.Body.Span);
            Assert.True(message.Body.Span.SequenceEqual(HostileSender.Body(value)), "A stored body was changed.");
            stored.Add((message.Queue, message.Offset.Value, value));
        }

        return stored;
    }

    private void CheckSends(SendOutcome[] outcomes, List<(int Queue, long Offset, int Value)> stored)
    {
        world.Histogram.Count("messages stored", stored.Count);
        Assert.Equal(_settings.Senders * _settings.MessagesOfSender, outcomes.Length);
        Assert.Equal([], stored.GroupBy(static one => one.Value).Where(static some => some.Count() > 1).Select(
            static some => $"{some.Key} is stored {some.Count()} times: {string.Join(", ", some)}"));
        var places = stored.ToDictionary(static one => one.Value, static one => (one.Queue, one.Offset));
        foreach (SendOutcome outcome in outcomes)
        {
            world.Histogram.Count(
                "send: " + (outcome.Failure is EQueueException failure ? failure.Code.ToString()
                    : outcome.Failure?.GetType().Name ?? "stored"));
            Assert.True(
                outcome.Took < (2 * _settings.Producer.DeliveryTimeout) + Lateness,
                $"{outcome.Value} took {outcome.Took} of {_settings.Producer.DeliveryTimeout}.");
            if (outcome.Receipt is { } receipt)
                Assert.Equal((receipt.Queue, receipt.Offset.Value), places.GetValueOrDefault(outcome.Value, (-1, -1)));
            else
                CheckFailure(outcome);
        }

        CheckOrder(stored);
    }

    private void CheckFailure(SendOutcome outcome)
    {
        if (_settings.AbortAfterMs >= 0 && outcome.Failure is ObjectDisposedException or EQueueException { Code: ErrorCode.Disposed })
            return;
        ErrorCode code = Assert.IsType<EQueueException>(outcome.Failure).Code;
        bool isLate =
            !_settings.IsPatient && code is ErrorCode.Timeout or ErrorCode.Unreachable or ErrorCode.ConnectionLost;
        Assert.True(isLate, $"{outcome.Value} failed: {outcome.Failure}");
    }

    /// <summary>What one sender sends lies in each queue in the order of its calls; so does every key.</summary>
    private static void CheckOrder(List<(int Queue, long Offset, int Value)> stored)
    {
        foreach (IGrouping<(int Queue, int Sender), (int Queue, long Offset, int Value)> some
            in stored.GroupBy(static one => (one.Queue, Sender: one.Value / 1_000)))
        {
            int[] values = some.OrderBy(static one => one.Offset).Select(static one => one.Value).ToArray();
            Assert.Equal(values.Order(), values);
        }
    }

    private static async Task AwaitReadersAsync(
        HostileReader[] readers, List<(int Queue, long Offset, int Value)> stored)
    {
        await Eventually.TrueAsync(() =>
        {
            HostileReader? failed = readers.FirstOrDefault(static reader => reader.Reading.IsCompleted);
            Assert.True(failed is null, $"A loop ended: {failed?.Reading.Exception}");
            var read = readers.SelectMany(static reader => reader.Values).ToHashSet();
            return read.SetEquals(stored.Select(static one => one.Value));
        });
        Assert.Equal([], readers.Select(static reader => reader.Wrong).OfType<string>());
    }

    private async Task AwaitProgressAsync(List<(int Queue, long Offset, int Value)> stored)
    {
        IEnumerable<long> ends =
            Enumerable.Range(0, _settings.Queues).Select(queue => (long)stored.Count(one => one.Queue == queue));
        long[] committed = [];
        await Eventually.TrueAsync(async () =>
        {
            IReadOnlyList<QueueOffset> offsets =
                await world.Direct.Admin.ReadGroupOffsetsAsync("group-" + _topic, _topic);
            committed = [.. offsets.Select(static offset => Math.Max(offset.Value, 0))];
            _phase = $"waiting for the group's progress: {string.Join(' ', committed)} of {string.Join(' ', ends)}";
            return committed.SequenceEqual(ends);
        });
    }

    private async Task RemoveAsync()
    {
        // A member whose leaving was cut off is a member for the broker until its grace is over.
        _phase = "removing the group";
        await Eventually.TrueAsync(RemoveGroupAsync);
        _phase = "removing the topic";
        await world.Direct.Admin.DeleteTopicAsync(_topic);
    }

    private async Task<bool> RemoveGroupAsync()
    {
        try
        {
            await world.Direct.Admin.DeleteGroupAsync("group-" + _topic);
            return true;
        }
        catch (EQueueException exception) when (exception.Code is ErrorCode.UnknownGroup or ErrorCode.GroupBusy)
        {
            // Unknown: nothing was stored, and the members came too late to join.
            return exception.Code == ErrorCode.UnknownGroup;
        }
    }
}
