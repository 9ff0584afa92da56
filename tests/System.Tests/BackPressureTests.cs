using System.Collections.Concurrent;
using System.Globalization;
using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A topic at its bound whose broker is killed while senders wait in its line.</summary>
public sealed class BackPressureTests
{
    private const string Topic = "orders";
    private const int Depth = 64;
    private const int Producers = 3;
    private const int KeysPerProducer = 5;
    private const int MessagesPerProducer = 1200;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenSendersThatWait_WhenTheServerIsKilledTwice_ThenTheBoundHoldsAndEachMessageIsThereOnceInOrder()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        await using var reading = new EQueueClient(server.Address);
        await reading.Admin.CreateTopicAsync(
            Topic,
            new TopicSettings { QueueCount = 4, MaxBacklogMessages = Depth, BacklogGroups = "billing" },
            Token);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(Token);
        using var gate = new Gate();
        ConcurrentDictionary<string, bool> consumed = [];
        await using var member = new BackgroundMember(reading, "billing", Topic, async (message, cancellationToken) =>
        {
            string name = $"{message.KeyText}={Encoding.UTF8.GetString(message.Body.Span)}";
            await gate.PassAsync(cancellationToken);
            consumed[name] = true;
            return true;
        });
        using var sampler = new Sampler(server.Address, ended.Token);
        Task[] sending = [.. Enumerable.Range(0, Producers).Select(i => SendAllAsync(server.Address, i))];

        for (int kills = 0; kills < 2; kills++)
        {
            await Eventually.TrueAsync(() => sampler.Parked >= Producers);
            await server.KillAsync();
            sampler.Forget();
            await server.RestartAsync();
            gate.Open(300);
        }

        await Eventually.TrueAsync(() => sampler.Parked >= Producers);
        gate.Open(int.MaxValue / 2);
        await Task.WhenAll(sending);
        await Eventually.TrueAsync(() => consumed.Count == Producers * MessagesPerProducer);
        await ended.CancelAsync();
        await member.StopAsync();
        await sampler.Ended;

        Assert.True(sampler.Samples > 5, $"{sampler.Samples} samples");
        Assert.Equal(Depth, sampler.Most);
        await CheckLogAsync(reading);
    }

    /// <summary>A client of its own, so connections of its own; every send must succeed.</summary>
    private static async Task SendAllAsync(string server, int number)
    {
        await using var client = new EQueueClient(server);
        await using Producer producer = client.CreateProducer();
        await Task.WhenAll(Enumerable.Range(0, MessagesPerProducer).Select(i => producer.SendAsync(
            Topic,
            Encoding.UTF8.GetBytes(i.ToString(CultureInfo.InvariantCulture)),
            $"{number}/{i % KeysPerProducer}",
            cancellationToken: Token).AsTask()));
    }

    private static async Task CheckLogAsync(EQueueClient client)
    {
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(Topic, StartPosition.Begin, Token);
        Dictionary<string, List<int>> byKey = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            string key = message.KeyText!;
            if (!byKey.TryGetValue(key, out List<int>? numbers))
                byKey[key] = numbers = [];
            numbers.Add(int.Parse(Encoding.UTF8.GetString(message.Body.Span), CultureInfo.InvariantCulture));
        }

        Assert.Equal(Producers * KeysPerProducer, byKey.Count);
        foreach ((string key, List<int> numbers) in byKey)
        {
            int first = int.Parse(key.Split('/')[1], CultureInfo.InvariantCulture);
            Assert.Equal(
                Enumerable.Range(0, MessagesPerProducer / KeysPerProducer).Select(i => first + (i * KeysPerProducer)),
                numbers);
        }
    }

    /// <summary>Lets so many messages through.</summary>
    private sealed class Gate : IDisposable
    {
        private readonly SemaphoreSlim _passes = new(0);

        public void Open(int messages) => _passes.Release(messages);

        public Task PassAsync(CancellationToken cancellationToken) => _passes.WaitAsync(cancellationToken);

        public void Dispose() => _passes.Dispose();
    }

    /// <summary>Asks for the backlog over and over, on a connection of its own.</summary>
    private sealed class Sampler : IDisposable
    {
        private readonly PeriodicTimer _timer = new(TimeSpan.FromMilliseconds(10));
        private long _parked;

        public Sampler(string server, CancellationToken cancellationToken) => Ended = RunAsync(server, cancellationToken);

        public Task Ended { get; }

        public int Samples { get; private set; }

        public long Most { get; private set; }

        public long Parked => Interlocked.Read(ref _parked);

        /// <summary>What was seen of a server that is gone.</summary>
        public void Forget() => Interlocked.Exchange(ref _parked, 0);

        public void Dispose() => _timer.Dispose();

        private async Task RunAsync(string server, CancellationToken cancellationToken)
        {
            await using var client = new EQueueClient(
                new ClientOptions { Addresses = server, RequestTimeout = TimeSpan.FromSeconds(1) });
            while (!cancellationToken.IsCancellationRequested)
            {
                try
                {
                    await _timer.WaitForNextTickAsync(cancellationToken);
                    BrokerFigures stats = await client.Admin.ReadFiguresAsync(cancellationToken);
                    Most = Math.Max(Most, stats.Find($"backlog.messages{{{Topic}}}") ?? 0);
                    Interlocked.Exchange(ref _parked, stats.Find($"backlog.parked{{{Topic}}}") ?? 0);
                    Samples++;
                }
                catch (EQueueException)
                {
                    // The server is away, or the test ends.
                    Forget();
                }
                catch (OperationCanceledException)
                {
                    return;
                }
            }
        }
    }
}
