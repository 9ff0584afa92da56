using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>A group at a real broker whose members come, go and vanish at random, while messages are sent.</summary>
public sealed class ConsumerGroupStormTests
{
    private const int Queues = 12;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(0)]
    public async Task GivenMembersThatComeGoAndVanish_WhenTheStormIsOver_ThenEveryMessageWasReadAndCommitted(int seed)
    {
        seed = seed == 0 ? Environment.TickCount : seed;
        TestContext.Current.TestOutputHelper?.WriteLine($"seed {seed}");
        var random = new Random(seed);
        await using TestBroker broker = await TestBroker.StartAsync(queues: Queues);
        await using var storm = new Storm(broker);
        await storm.AddAsync();
        await storm.AddAsync();
        int sent = 0;
        for (int round = 1; round <= 40; round++)
        {
            Task sending = SendAsync(broker, sent, 500);
            await storm.ChangeAsync(random, mayRestart: round is 12 or 24);
            await sending;
            sent += 500;
            if (random.Next(4) == 0)
                await Eventually.TrueAsync(() => storm.Values.Count == sent);
        }

        storm.Mend();
        await Eventually.TrueAsync(() => storm.IsSettled);
        await Eventually.TrueAsync(() => storm.Values.Count == sent);
        await Eventually.TrueAsync(async () =>
        {
            IReadOnlyList<QueueOffset> committed = await broker.Client.Admin.ReadGroupOffsetsAsync("g", "storm", Token);
            return committed.Sum(static one => one.Value) == sent;
        });
        Assert.Equal(Enumerable.Range(0, sent), storm.Values.Order());
    }

    private static async Task SendAsync(TestBroker broker, int first, int count)
    {
        await using Producer producer = broker.Client.CreateProducer();
        await Task.WhenAll(Enumerable.Range(first, count).Select(value => producer.SendAsync(
            "storm", BitConverter.GetBytes(value), key: $"{value % 64}", cancellationToken: Token).AsTask()));
    }

    /// <summary>Members that are reached over wires that can be cut.</summary>
    private sealed class Storm(TestBroker broker) : IAsyncDisposable
    {
        private static readonly ConsumerOptions Options = new()
        {
            SessionTimeout = TimeSpan.FromSeconds(10),
            AutoCommitInterval = TimeSpan.FromMilliseconds(50),
        };

        private readonly List<(GroupReader Reader, TcpRelay Wire)> _all = [];
        private readonly List<(GroupReader Reader, TcpRelay Wire)> _live = [];
        private readonly List<(GroupReader Reader, TcpRelay Wire)> _gone = [];

        /// <summary>Everything that was read, without repetitions.</summary>
        public HashSet<int> Values => [.. _all.SelectMany(static member => member.Reader.Values)];

        public bool IsSettled
        {
            get
            {
                int[][] owned = [.. _live.Select(static member => member.Reader.Queues)];
                return owned.SelectMany(static one => one).Order().SequenceEqual(Enumerable.Range(0, Queues))
                    && owned.Max(static one => one.Length) - owned.Min(static one => one.Length) <= 1;
            }
        }

        /// <summary>One more, that has joined: what ends a first join is the caller's.</summary>
        public async Task AddAsync()
        {
            var wire = new TcpRelay(broker.Address);
            (GroupReader, TcpRelay wire) member = (new GroupReader(wire.Address, "storm", Options), wire);
            _all.Add(member);
            _live.Add(member);
            await member.Item1.Consumer.JoinAsync(Token);
        }

        /// <summary>Lets those that vanished come back.</summary>
        public void Mend()
        {
            foreach ((GroupReader Reader, TcpRelay Wire) member in _gone)
                member.Wire.Pass();
            _live.AddRange(_gone);
            _gone.Clear();
        }

        public async Task ChangeAsync(Random random, bool mayRestart)
        {
            if (mayRestart)
            {
                await broker.RestartAsync();
                return;
            }

            int index = random.Next(_live.Count);
            switch (random.Next(5))
            {
                case 0 when _live.Count > 1:
                    GroupReader leaving = _live[index].Reader;
                    _live.RemoveAt(index);
                    await leaving.DisposeAsync();
                    break;
                case 1 when _live.Count > 1:
                    _live[index].Wire.Refuse();
                    _gone.Add(_live[index]);
                    _live.RemoveAt(index);
                    break;
                case 2:
                    _live[index].Wire.Cut();
                    break;
                case 3:
                    Mend();
                    break;
                default:
                    if (_live.Count < 6)
                        await AddAsync();
                    break;
            }
        }

        public async ValueTask DisposeAsync()
        {
            await Task.WhenAll(_all.Select(static member => member.Reader.DisposeAsync().AsTask()));
            foreach ((GroupReader Reader, TcpRelay Wire) member in _all)
                await member.Wire.DisposeAsync();
        }
    }
}
