using System.Collections;
using System.Reflection;
using EQueue.Protocol;

namespace EQueue.Broker.Tests.Memory;

/// <summary>What a request names twice is refused or counts once, in every list of every request.</summary>
public sealed class RepeatedNameTests
{
    private static readonly IReadOnlyDictionary<string, Func<Given, Task>> Cases =
        new Dictionary<string, Func<Given, Task>>
        {
            ["RouteRequest.Topics"] = given => given.RefusedAsync(new RouteRequest(["orders", "orders"], false)),
            // Clients ask for one end twice; an answer is shorter than its question.
            ["FindOffsetsRequest.Questions"] = async given => Assert.Equal(2, (await given.Peer.InvokeAsync(
                new FindOffsetsRequest([new(given.Queue, OffsetQuestion.End), new(given.Queue, OffsetQuestion.End)])))
                .Answers.Count),
            ["ReadOffsetsRequest.Queues"] = given => given.RefusedAsync(
                new ReadOffsetsRequest("billing", [given.Queue, given.Queue])),
            ["CheckHistoryRequest.Places"] = given => given.RefusedAsync(
                new CheckHistoryRequest(LogHistory.None, [new(given.Queue, default), new(given.Queue, default)])),
            ["GroupHeartbeatRequest.Subscriptions"] = given => given.RefusedAsync(
                given.Join(new("orders", []), new("orders", []))),
            ["TopicSubscription.Tags"] = async given =>
            {
                await given.Peer.InvokeAsync(given.Join(new TopicSubscription("orders", ["a", "a"])));
                GroupDescription group = await given.Peer.InvokeAsync(new DescribeGroupRequest("billing", null, false));
                Assert.Equal(["a"], group.Members[0].Subscriptions[0].Tags);
            },
            ["SetUserRequest.Groups"] = given =>
                given.RefusedAsync(new SetUserRequest("alice", null, null, ["staff", "staff"], false)),
            ["GroupHeartbeatRequest.Owned"] = async given =>
            {
                GroupHeartbeatRequest join = given.Join(new TopicSubscription("orders", []));
                GroupHeartbeatResponse joined = await given.Peer.InvokeAsync(join);
                AssignedQueue had = joined.Assignment![0].Queues[0];
                var owned = new OwnedQueue(had.Queue, had.Grant);
                await given.Peer.InvokeAsync(
                    join with { Sequence = 2, Generation = joined.Generation, Subscriptions = null, Owned = [owned, owned] });
                GroupDescription group = await given.Peer.InvokeAsync(new DescribeGroupRequest("billing", null, false));
                Assert.Equal(1u, group.Members[0].OwnedCount);
            },
            ["CommitOffsetsRequest.Offsets"] = async given =>
            {
                await given.Peer.ProduceAsync(given.Queue.Id, "a", "b");
                CommitOffsetsResponse answer = await given.Peer.InvokeAsync(
                    new CommitOffsetsRequest("billing", Guid.Empty, [given.Commit(2), given.Commit(1)]));
                Assert.Equal([ErrorCode.None, ErrorCode.OffsetBehind], answer.Errors);
                ReadOffsetsResponse read = await given.Peer.InvokeAsync(new ReadOffsetsRequest("billing", null));
                Assert.Equal(2, Assert.Single(read.Offsets).Next.Value);
            },
            ["ResetOffsetsRequest.Numbers"] = async given => Assert.Single((await given.Peer.InvokeAsync(
                new ResetOffsetsRequest { Group = "billing", Topic = "orders", Numbers = [0, 0] })).Queues),
            ["AlterQueuesRequest.Numbers"] = async given => Assert.Single((await given.Peer.InvokeAsync(
                new AlterQueuesRequest("orders", [0, 0], QueueState.Writable, QueueState.None))).Queues),
            ["FetchRequest.Queues"] = async given =>
            {
                await given.Peer.ProduceAsync(given.Queue.Id, "a", "b");
                Fetched answer = await given.Peer.FetchAsync(Messages.Open(
                    0, Messages.From(given.Queue.Id, 0), Messages.From(given.Queue.Id, 1)));
                Assert.Single(answer.Queues);
            },
            ["FetchRequest.Removed"] = async given =>
            {
                Fetched answer = await given.Peer.FetchAsync(Messages.Open(0) with { Removed = [given.Queue, given.Queue] });
                Assert.Empty(answer.Queues);
            },
        };

    public static TheoryData<string> Lists =>
        [.. Requests().SelectMany(request => ListsOf(request)).Distinct().Order(StringComparer.Ordinal)];

    [Theory]
    [MemberData(nameof(Lists))]
    public async Task GivenAListOfARequest_WhenItNamesAThingTwice_ThenItIsRefusedOrCountsOnce(string list)
    {
        Assert.True(Cases.TryGetValue(list, out Func<Given, Task>? run), $"No case says what {list} does with a repetition.");
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        TopicDescription topic = await peer.CreateTopicAsync("orders");
        await run(new Given(peer, new QueueKey(0, topic.Queues[0].Id)));
    }

    [Fact]
    public void GivenTheCases_WhenHeldAgainstTheRequests_ThenEachIsOfAListThatIs() =>
        Assert.Empty(Cases.Keys.Except(Requests().SelectMany(request => ListsOf(request))));

    private static IEnumerable<Type> Requests() => typeof(Opcode).Assembly.GetTypes().Where(type =>
        type.Name.EndsWith("Request", StringComparison.Ordinal)
        && Array.Exists(type.GetInterfaces(), one =>
            one.IsGenericType && one.GetGenericTypeDefinition() == typeof(IPayload<>)));

    private static IEnumerable<string> ListsOf(Type type)
    {
        foreach (PropertyInfo property in type.GetProperties(BindingFlags.Public | BindingFlags.Instance))
        {
            Type of = property.PropertyType;
            if (of == typeof(string) || !typeof(IEnumerable).IsAssignableFrom(of) || !of.IsGenericType)
                continue;
            yield return $"{type.Name}.{property.Name}";
            foreach (string inner in ListsOf(of.GetGenericArguments()[0]))
                yield return inner;
        }
    }

    private sealed record Given(TestPeer Peer, QueueKey Queue)
    {
        public GroupHeartbeatRequest Join(params TopicSubscription[] wanted) => new()
        {
            Group = "billing",
            Member = Guid.Parse("11111111-1111-1111-1111-111111111111"),
            Sequence = 1,
            Subscriptions = wanted,
        };

        public OffsetCommit Commit(long next) =>
            new(Queue, GroupGeneration.None, new QueueOffset(next), -1, null);

        public async Task RefusedAsync<TRequest, TResponse>(IRequest<TRequest, TResponse> request)
            where TRequest : IRequest<TRequest, TResponse>
            where TResponse : IPayload<TResponse>
        {
            EQueueException refusal = await Peer.RefusalAsync(request);
            Assert.Equal(ErrorCode.InvalidArgument, refusal.Code);
            Assert.Contains("named twice", refusal.Message, StringComparison.Ordinal);
        }
    }
}
