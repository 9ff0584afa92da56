using System.Collections.Concurrent;
using System.Net;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cli.Tests;

/// <summary>A broker that answers every question, with texts that would command a terminal wherever a text may
/// be.</summary>
internal sealed class HostileBroker : IConnectionHandler, IAsyncDisposable
{
    /// <summary>Colours, OSC 52 (the clipboard), C1, a change of direction, a line that is forged.</summary>
    public const string Text = "x\u001b[31m\u001b]52;c;aGk=\u0007\u009b2J\u202ey\u2028z\r\n0\tforged\b";

    private static readonly Guid Id = Guid.NewGuid();

    private readonly RemotingServer _server;

    private HostileBroker() => _server = new RemotingServer(
        new RemotingServerOptions(), this, NullLoggerFactory.Instance, TimeProvider.System);

    public string Address => ((IPEndPoint)_server.LocalEndPoint).ToString();

    /// <summary>What every request but the greeting is refused with; None = it is answered.</summary>
    public ErrorCode Refusal { get; set; }

    /// <summary>Whether the greeting is refused too.</summary>
    public bool RefusesHello { get; set; }

    /// <summary>Whether lists say that there is more, with the same page again and again.</summary>
    public bool AlwaysHasMore { get; set; }

    /// <summary>What was asked for.</summary>
    public ConcurrentDictionary<Opcode, int> Asked { get; } = [];

    public static async Task<HostileBroker> StartAsync()
    {
        var broker = new HostileBroker();
        await broker._server.StartAsync(CancellationToken.None);
        return broker;
    }

    public void OnConnected(FrameConnection connection)
    {
    }

    public void OnDisconnected(FrameConnection connection, Exception? cause)
    {
    }

    public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        var opcode = (Opcode)header.Opcode;
        Asked.AddOrUpdate(opcode, 1, static (_, count) => count + 1);
        if (opcode == Opcode.Hello && !RefusesHello)
            Answer(connection, header, Hello());
        else if (Refusal != ErrorCode.None)
            Refuse(connection, header, Refusal);
        else
            Answer(connection, header, opcode);
        return ValueTask.CompletedTask;
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private static void Refuse(FrameConnection connection, FrameHeader header, ErrorCode error)
    {
        var frame = FrameBuffer.Rent();
        new ErrorDetail(Text, TimeSpan.Zero).Write(new PayloadWriter(frame));
        connection.Send(
            frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, (ushort)error);
    }

    private static void Answer<T>(FrameConnection connection, FrameHeader header, T answer)
        where T : IPayload<T>
    {
        var frame = FrameBuffer.Rent();
        answer.Write(new PayloadWriter(frame));
        connection.Send(frame, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0);
    }

    /// <summary>Its greeting.</summary>
    public static HelloResponse Hello() => new()
    {
        Version = HelloRequest.ProtocolVersion,
        Operations = OperationVersions.All,
        StoreId = Id,
        BrokerId = Id,
        BrokerVersion = Text,
        MaxFrameBytes = 16 << 20,
        MaxMessageBytes = 4 << 20,
        MaxBatchBytes = (4 << 20) + 65536,
        SequenceWindow = 16,
    };

    private static TopicDescription Topic() => new(
        Text,
        new TopicId(Guid.NewGuid()),
        0,
        TopicSettings.None with { MaxBacklogMessages = 1, BacklogGroups = Text },
        [
            new QueueDescription(
                0, 0, new QueueId(1), QueueState.Readable | QueueState.Writable, new QueueOffset(0), new QueueOffset(5),
                9, 1),
        ]);

    private static GroupDescription Group() => new(
        GroupKind.Shared,
        GroupState.Stable,
        new GroupGeneration(1),
        [
            new MemberDescription(
                Guid.NewGuid(), Text, Text, Text, TimeSpan.FromSeconds(10), TimeSpan.Zero,
                [new TopicSubscription(Text, [Text])], 1, 0),
        ],
        [
            new GroupQueueDescription
            {
                Topic = Text, Owner = 0, Target = 0, InstanceId = Text, Committed = new QueueOffset(1), CommittedMs = 1,
                End = new QueueOffset(5), Lag = 4, LagMs = 60_000,
            },
        ]);

    private void Answer(FrameConnection connection, FrameHeader header, Opcode opcode)
    {
        switch (opcode)
        {
            case Opcode.CreateTopic or Opcode.AlterTopic or Opcode.DescribeTopic or Opcode.AlterQueues:
                Answer(connection, header, Topic());
                break;
            case Opcode.ListTopics:
                Answer(connection, header, new ListTopicsResponse(
                    [new TopicListing(Text, new TopicId(Id), 4)], AlwaysHasMore));
                break;
            case Opcode.ListGroups:
                Answer(connection, header, new ListGroupsResponse(
                    [new GroupListing(Text, GroupKind.Shared, GroupState.Stable, 1)], AlwaysHasMore));
                break;
            case Opcode.DescribeGroup:
                Answer(connection, header, Group());
                break;
            case Opcode.ResetOffsets:
                Answer(connection, header, new ResetOffsetsResponse(
                    [new ResetQueue(Text, 0, ErrorCode.None, new QueueOffset(1), new QueueOffset(2))]));
                break;
            case Opcode.Stats:
                Answer(connection, header, new StatsResponse([new StatsFigure("broker.connections", 1)]));
                break;
            case Opcode.ListQuotas:
                Answer(connection, header, new ListQuotasResponse([new Quota(QuotaKind.Client, Text, 1, 2, 3)]));
                break;
            case Opcode.ListUsers:
                Answer(connection, header, new ListUsersResponse(
                    [new UserListing(Text, false, true, [Text])], AlwaysHasMore));
                break;
            case Opcode.ListTokens:
                Answer(connection, header, new ListTokensResponse(
                    [new TokenListing(Text, Text, long.MinValue, long.MaxValue, Text)], AlwaysHasMore));
                break;
            case Opcode.CreateToken:
                Answer(connection, header, new CreateTokenResponse(Text, Text));
                break;
            case Opcode.ListRules:
                Answer(connection, header, new ListRulesResponse(
                    [new AccessRule(RuleEffect.Allow, Text, Permission.Read, ResourceKind.Topic, Text)], AlwaysHasMore));
                break;
            case Opcode.TestRule:
                Answer(connection, header, new TestRuleResponse(Text, true, Text));
                break;
            case Opcode.SetUser or Opcode.DeleteUser or Opcode.RevokeToken or Opcode.SetRule:
                Answer(connection, header, Done.Value);
                break;
            case Opcode.DeleteTopic or Opcode.DeleteGroup or Opcode.SetQuota:
                Answer(connection, header, Done.Value);
                break;
            default:
                Refuse(connection, header, ErrorCode.InternalError);
                break;
        }
    }
}
