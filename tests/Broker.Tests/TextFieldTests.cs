using System.Collections;
using System.Reflection;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>Every text of every request with control characters in it: what is kept or shown refuses them.</summary>
public sealed class TextFieldTests : IAsyncLifetime
{
    private const string Hostile = "a\n2026-01-01 [INF] forged\u001b[31m\u009b\u2028";

    /// <summary>What may answer otherwise than with InvalidName or InvalidArgument, and why.</summary>
    private static readonly Dictionary<string, ErrorCode> Others = new()
    {
        // No tenant but "" exists, and no such mechanism.
        ["HelloRequest.Tenant"] = ErrorCode.NotAuthorized,
        ["HelloRequest.Mechanism"] = ErrorCode.AuthenticationFailed,

        // Where a list continues: compared with names, never kept and never shown.
        ["ListTopicsRequest.After"] = ErrorCode.None,
        ["ListGroupsRequest.After"] = ErrorCode.None,
        ["ListUsersRequest.After"] = ErrorCode.None,
        ["ListTokensRequest.After"] = ErrorCode.None,
        ["ListRulesRequest.After"] = ErrorCode.None,

        // A topic of that name cannot be: it is looked for and not found.
        ["AlterTopicRequest.Topic"] = ErrorCode.UnknownTopic,
        ["AlterQueuesRequest.Topic"] = ErrorCode.UnknownTopic,
        ["DeleteTopicRequest.Topic"] = ErrorCode.UnknownTopic,
        ["DescribeTopicRequest.Topic"] = ErrorCode.UnknownTopic,
        ["DescribeGroupRequest.Topic"] = ErrorCode.UnknownTopic,
        ["DeleteGroupRequest.Topic"] = ErrorCode.UnknownTopic,
        ["ResetOffsetsRequest.Topic"] = ErrorCode.UnknownTopic,

        // Each topic has an error of its own: InvalidName.
        ["RouteRequest.Topics"] = ErrorCode.None,

        // An application's own words about its progress, bytes to the broker, as a message's body is.
        ["CommitOffsetsRequest.Offsets.Metadata"] = ErrorCode.None,
    };

    private static readonly Type[] Requests =
    [
        .. typeof(HelloRequest).Assembly.GetTypes().Where(type => type.GetInterfaces()
            .Any(one => one.IsGenericType && one.GetGenericTypeDefinition() == typeof(IRequest<,>))),
    ];

    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private object[] _samples = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _peer = await _broker.ConnectAsync();
        TopicDescription topic = await _peer.CreateTopicAsync("orders");
        var key = new QueueKey(0, topic.Queues[0].Id);
        var offset = new OffsetCommit(key, new GroupGeneration(-1), new QueueOffset(0), -1, "words");
        _samples =
        [
            TestPeer.NewHello("name"),
            new CreateTopicRequest("new", new TopicSettings { QueueCount = 1, BacklogGroups = "group" }),
            new AlterTopicRequest("orders", new TopicSettings { BacklogGroups = "group" }),
            new AlterQueuesRequest("orders", null, QueueState.Writable, QueueState.Writable),
            new DeleteTopicRequest("none"),
            new ListTopicsRequest("a", 10),
            new DescribeTopicRequest("orders"),
            new RouteRequest(["orders"], false),
            new InitProducerRequest("transaction", ProducerSession.None),
            new CommitOffsetsRequest("group", Guid.Empty, [offset]),
            new ReadOffsetsRequest("group", null),
            new GroupHeartbeatRequest
            {
                Group = "readers",
                Member = Guid.NewGuid(),
                InstanceId = "instance",
                Subscriptions = [new TopicSubscription("orders", ["tag"])],
            },
            new GroupLeaveRequest("readers", Guid.NewGuid(), false),
            new ListGroupsRequest("a", 10),
            new DescribeGroupRequest("group", "orders", false),
            new DeleteGroupRequest("group", "orders"),
            new ResetOffsetsRequest { Group = "group", InstanceId = "instance", Topic = "orders" },
            new SetQuotaRequest(new Quota(QuotaKind.Client, "name", 1, 1, 1)),
            new SetUserRequest("user", null, null, ["group"], false),
            new DeleteUserRequest("none"),
            new ListUsersRequest("a", 10),
            new CreateTokenRequest("user", 0, "note"),
            new RevokeTokenRequest("none"),
            new ListTokensRequest("a", 10),
            new SetRuleRequest(
                new AccessRule(RuleEffect.Deny, "user:else", Permission.Read, ResourceKind.Topic, "else"), false),
            new ListRulesRequest("a", 10),
            new TestRuleRequest("user:else", Permission.Read, ResourceKind.Topic, "orders"),
        ];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenControlCharactersInAnyTextOfAnyRequest_WhenSent_ThenItIsRefused()
    {
        // A group with progress, for the requests about it.
        await SendAsync(_samples.OfType<CommitOffsetsRequest>().Single());
        var seen = new HashSet<string>();
        foreach (object sample in _samples)
        {
            foreach ((string path, object hostile) in Mutations(sample, sample.GetType().Name))
            {
                seen.Add(path);
                ErrorCode answer = await SendAsync(hostile);
                bool isRefused = Others.TryGetValue(path, out ErrorCode other)
                    ? answer == other || answer is ErrorCode.InvalidName or ErrorCode.InvalidArgument
                    : answer is ErrorCode.InvalidName or ErrorCode.InvalidArgument;
                Assert.True(isRefused, $"{path}: {answer}");
            }
        }

        // Each text that a request can hold was among them: a new one needs a place in a sample.
        Assert.Empty(Requests.SelectMany(type => TextsOf(type, type.Name)).Except(seen));
        Assert.Empty(Others.Keys.Except(seen));
    }

    [Fact]
    public async Task GivenControlCharactersInARoutedTopic_WhenItWouldBeMade_ThenItIsNot()
    {
        RouteResponse answer = await _peer.InvokeAsync(new RouteRequest([Hostile], true));
        Assert.Equal(ErrorCode.InvalidName, Assert.Single(answer.Topics).Error);
    }

    private async Task<ErrorCode> SendAsync(object request)
    {
        var opcode = (Opcode)request.GetType().GetProperty("Opcode", BindingFlags.Static | BindingFlags.Public)!
            .GetValue(null)!;
        var body = (FrameBuffer)typeof(TestPeer).GetMethod(nameof(TestPeer.Encode))!
            .MakeGenericMethod(request.GetType()).Invoke(null, [request])!;
        if (opcode != Opcode.Hello)
            return await _peer.RefusalAsync(opcode, body);
        using RawConnection connection = await RawConnection.ConnectAsync(_broker.EndPoint);
        await connection.SendAsync(RawConnection.Frame(opcode, body.WrittenSpan));
        body.Dispose();
        return (await connection.ReceiveAsync()).Error;
    }

    /// <summary>Copies of a value, each with one of its texts made hostile.</summary>
    private static IEnumerable<(string Path, object Hostile)> Mutations(object value, string path)
    {
        foreach (PropertyInfo property in PropertiesOf(value.GetType()))
        {
            string at = $"{path}.{property.Name}";
            object? held = property.GetValue(value);
            if (property.PropertyType == typeof(string))
            {
                if (held is not null)
                    yield return (at, With(value, property, Hostile));
            }
            else if (held is IReadOnlyList<string> { Count: > 0 })
            {
                yield return (at, With(value, property, new[] { Hostile }));
            }
            else if (ItemOf(property.PropertyType) is { } item && held is IList { Count: > 0 } list)
            {
                foreach ((string inner, object hostile) in Mutations(list[0]!, at))
                {
                    var items = Array.CreateInstance(item, 1);
                    items.SetValue(hostile, 0);
                    yield return (inner, With(value, property, items));
                }
            }
            else if (held is not null && IsOfProtocol(property.PropertyType))
            {
                foreach ((string inner, object hostile) in Mutations(held, at))
                    yield return (inner, With(value, property, hostile));
            }
        }
    }

    /// <summary>The texts that values of a type can hold.</summary>
    private static IEnumerable<string> TextsOf(Type type, string path)
    {
        foreach (PropertyInfo property in PropertiesOf(type))
        {
            string at = $"{path}.{property.Name}";
            Type held = ItemOf(property.PropertyType) ?? property.PropertyType;
            if (held == typeof(string))
            {
                yield return at;
            }
            else if (IsOfProtocol(held))
            {
                foreach (string inner in TextsOf(held, at))
                    yield return inner;
            }
        }
    }

    private static IEnumerable<PropertyInfo> PropertiesOf(Type type) => type
        .GetProperties(BindingFlags.Instance | BindingFlags.Public)
        .Where(property => property.CanWrite && property.GetIndexParameters().Length == 0);

    private static Type? ItemOf(Type type) =>
        type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IReadOnlyList<>)
            ? type.GetGenericArguments()[0]
            : null;

    private static bool IsOfProtocol(Type type) =>
        type.Assembly == typeof(HelloRequest).Assembly && !type.IsEnum;

    /// <summary>A copy of a record with another value of a property.</summary>
    private static object With(object record, PropertyInfo property, object value)
    {
        object copy = record.GetType().IsValueType
            ? record
            : record.GetType().GetMethod("<Clone>$")!.Invoke(record, [])!;
        property.SetValue(copy, value);
        return copy;
    }
}
