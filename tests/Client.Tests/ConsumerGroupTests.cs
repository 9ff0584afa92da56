using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Members of one group at a real broker: they come, go, vanish and come back.</summary>
public sealed class ConsumerGroupTests
{
    private static readonly ConsumerOptions Quick = new() { SessionTimeout = TimeSpan.FromSeconds(6) };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(8)]
    public async Task GivenMembersThatJoin_WhenMessagesAreSent_ThenEachIsReadOnceAndTheQueuesAreSharedEvenly(int count)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 8);
        await using var group = new GroupOf(broker.Address, "shared");
        Task sent = SendAsync(broker, "shared", 0, 4000);
        for (int i = 0; i < count; i++)
            await group.AddAsync();
        await sent;
        await group.SettleAsync(8);
        await SendAsync(broker, "shared", 4000, 4000);

        await Eventually.TrueAsync(() => group.ReadCount >= 8000);

        Assert.Equal(Enumerable.Range(0, 8000), group.Values.Order());
        Assert.All(group.Members, member => Assert.InRange(member.Queues.Length, 8 / count, (7 + count) / count));
        group.AssertOrderOfKeys();
    }

    [Fact]
    public async Task GivenMembersThatLeave_WhenMessagesAreSent_ThenTheRestReadsAllAndOnlyWhatWasInHandComesTwice()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 8);
        await using var group = new GroupOf(broker.Address, "left");
        for (int i = 0; i < 4; i++)
            await group.AddAsync();
        await group.SettleAsync(8);
        Task sent = SendAsync(broker, "left", 0, 20_000);
        for (int i = 0; i < 3; i++)
        {
            await group.Members[0].DisposeAsync();
            group.Forget(0);
            await group.SettleAsync(8);
        }

        await sent;
        await Eventually.TrueAsync(() => group.Values.Distinct().Count() == 20_000);
        Assert.InRange(group.ReadCount, 20_000, 20_003);
        await Eventually.TrueAsync(async () => (await CommittedAsync(broker, "left")) == 20_000);
    }

    [Fact]
    public async Task GivenMemberWhoseConnectionIsCut_WhenItIsBackAtOnce_ThenNothingMovesAndNothingComesTwice()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        await using var wire = new TcpRelay(broker.Address);
        await using var group = new GroupOf(broker.Address, "cut");
        await group.AddAsync();
        await group.AddAsync(new GroupReader(wire.Address, "cut", Quick));
        await group.SettleAsync(4);
        int[] before = group.Members.Select(static member => member.Moves.Count).ToArray();
        for (int i = 0; i < 5; i++)
        {
            await SendAsync(broker, "cut", i * 500, 500);
            wire.Cut();
            await Eventually.TrueAsync(() => group.ReadCount >= (i + 1) * 500);
        }

        Assert.Equal(Enumerable.Range(0, 2500), group.Values.Order());
        Assert.Equal(before, group.Members.Select(static member => member.Moves.Count));
    }

    [Fact]
    public async Task GivenMemberThatVanishes_WhenItsGraceIsOver_ThenTheOthersReadItsQueuesAndItComesBackLater()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        await using var wire = new TcpRelay(broker.Address);
        await using var group = new GroupOf(broker.Address, "vanished");
        await group.AddAsync();
        await group.AddAsync(new GroupReader(wire.Address, "vanished", Quick));
        await group.SettleAsync(4);
        await SendAsync(broker, "vanished", 0, 1000);
        await Eventually.TrueAsync(() => group.ReadCount >= 1000);

        wire.Refuse();
        await Eventually.TrueAsync(() => group.Members[0].Queues.Length == 4);
        await SendAsync(broker, "vanished", 1000, 1000);
        await Eventually.TrueAsync(() => group.Members[0].Values.Count(static value => value >= 1000) == 1000);

        wire.Pass();
        await group.SettleAsync(4);
        Assert.All(group.Members, static member => Assert.Equal(2, member.Queues.Length));
        await SendAsync(broker, "vanished", 2000, 1000);
        await Eventually.TrueAsync(() => group.Values.Distinct().Count() == 3000);
    }

    [Fact]
    public async Task GivenStaticMember_WhenItsProcessIsReplaced_ThenItHasItsQueuesAndNothingElseMoves()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        await using var group = new GroupOf(broker.Address, "static");
        var named = new ConsumerOptions { InstanceId = "station-1" };
        await group.AddAsync();
        await group.AddAsync(new GroupReader(broker.Address, "static", named));
        await group.SettleAsync(4);
        (int[] mine, int moves) = (group.Members[1].Queues, group.Members[0].Moves.Count);
        await SendAsync(broker, "static", 0, 1000);
        await Eventually.TrueAsync(() => group.ReadCount >= 1000);

        await group.Members[1].DisposeAsync();
        group.Forget(1);
        await SendAsync(broker, "static", 1000, 1000);
        await group.AddAsync(new GroupReader(broker.Address, "static", named));

        Assert.Equal(mine, group.Members[1].Queues);
        await Eventually.TrueAsync(() => group.Values.Distinct().Count() == 2000);
        Assert.Equal(moves, group.Members[0].Moves.Count);
    }

    [Fact]
    public async Task GivenStaticMember_WhenAnotherProcessTakesItsName_ThenTheFirstLoopEnds()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        var named = new ConsumerOptions { InstanceId = "station-1" };
        await using var first = new GroupReader(broker.Address, "replaced", named);
        await Eventually.TrueAsync(() => first.Queues.Length == 2);
        await using var second = new GroupReader(broker.Address, "replaced", named);

        EQueueException end = await Assert.ThrowsAsync<EQueueException>(() => first.Reading);

        Assert.Equal(ErrorCode.MemberReplaced, end.Code);
        await Eventually.TrueAsync(() => second.Queues.Length == 2);
        await SendAsync(broker, "replaced", 0, 100);
        await Eventually.TrueAsync(() => second.Read.Count == 100);
    }

    [Fact]
    public async Task GivenBrokerThatRestarts_WhenItsMembersClaimTheirQueues_ThenNothingIsMissingAndNothingComesTwice()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 6);
        await using var group = new GroupOf(broker.Address, "restart");
        for (int i = 0; i < 3; i++)
            await group.AddAsync();
        await group.SettleAsync(6);
        int[][] queues = group.Members.Select(static member => member.Queues).ToArray();
        Task sent = SendAsync(broker, "restart", 0, 30_000);
        await Eventually.TrueAsync(() => group.ReadCount > 2000);
        await broker.RestartAsync();
        await sent;

        await Eventually.TrueAsync(() => group.ReadCount >= 30_000);

        Assert.Equal(Enumerable.Range(0, 30_000), group.Values.Order());
        Assert.Equal(queues, group.Members.Select(static member => member.Queues));
        await Eventually.TrueAsync(async () => (await CommittedAsync(broker, "restart")) == 30_000);
    }

    [Fact]
    public async Task GivenBroadcast_WhenMessagesAreSent_ThenEveryMemberReadsAllAndGoesOnUnderItsName()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        var options = new ConsumerOptions { IsBroadcast = true };
        await SendAsync(broker, "news", 0, 100);
        await using var other = new GroupReader(broker.Address, "news", options);
        await using (var named = new GroupReader(broker.Address, "news", options with { InstanceId = "wall-1" }))
        {
            await Eventually.TrueAsync(() => other.Read.Count == 100 && named.Read.Count == 100);
        }

        await SendAsync(broker, "news", 100, 50);
        await using var again = new GroupReader(broker.Address, "news", options with { InstanceId = "wall-1" });
        await Eventually.TrueAsync(() => other.Read.Count == 150 && again.Read.Count == 50);
        Assert.Equal(Enumerable.Range(100, 50), again.Values.Order());

        await using Consumer shared = broker.Client.CreateConsumer("g", ["news"]);
        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(async () => await shared.JoinAsync(Token));
        Assert.Equal(ErrorCode.GroupKindDiffers, refusal.Code);
    }

    [Fact]
    public async Task GivenTopicThatIsMadeLaterAndGrows_WhenItsMessagesCome_ThenTheWaitingMembersReadThem()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using var group = new GroupOf(broker.Address, "later");
        await group.AddAsync(new GroupReader(broker.Address, "later", mayCreate: false));
        await group.AddAsync(new GroupReader(broker.Address, "later", mayCreate: false));
        Assert.All(group.Members, static member => Assert.Empty(member.Queues));

        await broker.Client.Admin.CreateTopicAsync("later", new TopicSettings { QueueCount = 2 }, Token);
        await group.SettleAsync(2);
        await broker.Client.Admin.AlterTopicAsync("later", new TopicSettings { QueueCount = 6 }, Token);
        await group.SettleAsync(6);
        await SendAsync(broker, "later", 0, 600);
        await Eventually.TrueAsync(() => group.ReadCount >= 600);
        Assert.Equal(Enumerable.Range(0, 600), group.Values.Order());

        await broker.Client.Admin.DeleteTopicAsync("later", Token);
        await Eventually.TrueAsync(() => group.Members.All(static member => member.Queues.Length == 0));
        await broker.Client.Admin.CreateTopicAsync("later", new TopicSettings { QueueCount = 2 }, Token);
        await group.SettleAsync(2);
        await SendAsync(broker, "later", 600, 10);
        await Eventually.TrueAsync(() => group.ReadCount >= 610);
    }

    [Fact]
    public async Task GivenMembersWithTags_WhenAnotherAsksForOthers_ThenItIsRefusedAndTheGroupGoesOn()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        await using var first = new GroupReader(broker.Address, "tagged", new ConsumerOptions { Tags = ["a", "b"] });
        await Eventually.TrueAsync(() => first.Queues.Length == 2);
        await using Consumer second = broker.Client.CreateConsumer(
            "g", ["tagged"], new ConsumerOptions { Tags = ["a"] });

        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(async () => await second.JoinAsync(Token));
        Assert.Equal(ErrorCode.TagsDiffer, refusal.Code);

        await using var third = new GroupReader(broker.Address, "tagged", new ConsumerOptions { Tags = ["b", "a"] });
        await Eventually.TrueAsync(() => third.Queues.Length == 1 && first.Queues.Length == 1);
    }

    [Fact]
    public async Task GivenMoreMembersThanQueues_WhenAllReadToTheEnd_ThenEveryLoopEnds()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        await SendAsync(broker, "ending", 0, 1000);
        await using var group = new GroupOf(broker.Address, "ending");
        var options = new ConsumerOptions { StopAtEnd = true };
        for (int i = 0; i < 5; i++)
            group.Add(new GroupReader(broker.Address, "ending", options));

        await Task.WhenAll(group.Members.Select(static member => member.Reading))
            .WaitAsync(TimeSpan.FromSeconds(60), Token);

        Assert.Equal(Enumerable.Range(0, 1000), group.Values.Order());
    }

    /// <summary>Values count up; a key's values all lie 16 apart in one queue.</summary>
    private static async Task SendAsync(TestBroker broker, string topic, int first, int count)
    {
        await using Producer producer = broker.Client.CreateProducer();
        var window = new Queue<ValueTask<SendReceipt>>();
        for (int i = first; i < first + count; i++)
        {
            string key = (i % 16).ToString(System.Globalization.CultureInfo.InvariantCulture);
            window.Enqueue(producer.SendAsync(topic, BitConverter.GetBytes(i), key: key, cancellationToken: Token));
            if (window.Count == 500)
                await window.Dequeue();
        }

        while (window.TryDequeue(out ValueTask<SendReceipt> one))
            await one;
    }

    private static async Task<long> CommittedAsync(TestBroker broker, string topic) =>
        (await broker.Client.Admin.ReadGroupOffsetsAsync("g", topic, Token)).Sum(static one => Math.Max(0, one.Value));

    /// <summary>Members that share a topic.</summary>
    private sealed class GroupOf(string address, string topic) : IAsyncDisposable
    {
        private readonly List<GroupReader> _all = [];

        /// <summary>Those that have not been forgotten.</summary>
        public List<GroupReader> Members { get; } = [];

        public IEnumerable<int> Values => _all.SelectMany(static member => member.Values);

        public int ReadCount => _all.Sum(static member => member.Read.Count);

        public void Add(GroupReader member)
        {
            _all.Add(member);
            Members.Add(member);
        }

        /// <summary>Adds one and waits until it is a member.</summary>
        public async Task AddAsync(GroupReader? member = null)
        {
            member ??= new GroupReader(address, topic);
            Add(member);
            await member.Consumer.JoinAsync(Token);
        }

        public void Forget(int index) => Members.RemoveAt(index);

        /// <summary>Every queue has one owner, and the counts differ by at most one.</summary>
        public Task SettleAsync(int queues) => Eventually.TrueAsync(() =>
        {
            int[][] owned = [.. Members.Select(static member => member.Queues)];
            return owned.SelectMany(static one => one).Order().SequenceEqual(Enumerable.Range(0, queues))
                && owned.Max(static one => one.Length) - owned.Min(static one => one.Length) <= 1;
        });

        /// <summary>At each member the values of a key rise.</summary>
        public void AssertOrderOfKeys()
        {
            foreach (IGrouping<int, int>? key
                in _all.SelectMany(static member => member.Values.GroupBy(static value => value % 16)))
            {
                Assert.Equal(key.Order(), key);
            }
        }

        public async ValueTask DisposeAsync() =>
            await Task.WhenAll(_all.Select(static member => member.DisposeAsync().AsTask()));
    }
}
