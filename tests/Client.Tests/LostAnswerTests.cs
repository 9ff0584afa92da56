using EQueue.Protocol;

namespace EQueue.Client.Tests;

/// <summary>The connection is lost before an answer has come: what only asks is asked again, what changes something
/// says that the outcome is unknown.</summary>
public sealed class LostAnswerTests
{
    private static readonly Dictionary<Opcode, Func<EQueueClient, Task>> Questions = new()
    {
        [Opcode.ListTopics] = client => ReadAsync(client.Admin.ListTopicsAsync(Token)),
        [Opcode.DescribeTopic] = async client => await client.Admin.DescribeTopicAsync("t", Token),
        [Opcode.Route] = async client =>
        {
            await using QueueReader reader = client.CreateReader();
            await reader.AssignAllAsync("t", StartPosition.Begin, Token);
        },
        [Opcode.FindOffsets] = async client => await client.Admin.FindOffsetAsync("t", 0, StartPosition.End, Token),
        [Opcode.FindByKey] = async client => await client.Admin.FindByKeyAsync("t", "key", cancellationToken: Token),
        [Opcode.ReadOffsets] = async client => await client.Admin.ReadGroupOffsetsAsync("g", "t", Token),
        [Opcode.ListGroups] = client => ReadAsync(client.Admin.ListGroupsAsync(Token)),
        [Opcode.DescribeGroup] = async client => await client.Admin.DescribeGroupAsync("g", "t", cancellationToken: Token),
        [Opcode.Stats] = async client => await client.Admin.ReadFiguresAsync(Token),
        [Opcode.ListQuotas] = async client => await client.Admin.ListQuotasAsync(Token),
        [Opcode.ListUsers] = client => ReadAsync(client.Admin.ListUsersAsync(Token)),
        [Opcode.ListTokens] = client => ReadAsync(client.Admin.ListTokensAsync(Token)),
        [Opcode.ListRules] = client => ReadAsync(client.Admin.ListRulesAsync(Token)),
        [Opcode.TestRule] = async client =>
            await client.Admin.TestAccessAsync("user:somebody", Permission.Read, ResourceKind.Topic, "t", Token),
    };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public static TheoryData<Opcode> AllQuestions =>
        new(Enum.GetValues<Opcode>().Where(static opcode => opcode.IsQuestion()));

    [Theory]
    [MemberData(nameof(AllQuestions))]
    public async Task GivenAConnectionThatIsLost_WhenAQuestionWaitsForItsAnswer_ThenItIsAskedAgain(Opcode opcode)
    {
        await using TestBroker broker = await StartAsync();
        await using var cutter = new AnswerCutter(broker.Address);
        await using var client = new EQueueClient(cutter.Address);
        await client.Admin.DescribeBrokerAsync(Token);
        cutter.ToCut = 1;
        await Questions[opcode](client);
        Assert.Equal(0, cutter.ToCut);
    }

    [Fact]
    public async Task GivenConnectionsThatAreLostAgainAndAgain_WhenTheTimeIsOver_ThenTheQuestionEnds()
    {
        await using TestBroker broker = await StartAsync();
        await using var cutter = new AnswerCutter(broker.Address);
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = cutter.Address, RequestTimeout = TimeSpan.FromSeconds(1) });
        await client.Admin.DescribeBrokerAsync(Token);
        cutter.ToCut = int.MaxValue;
        EQueueException fault =
            await Assert.ThrowsAsync<EQueueException>(async () => await client.Admin.ReadFiguresAsync(Token));
        Assert.True(fault.Code is ErrorCode.ConnectionLost or ErrorCode.Unreachable or ErrorCode.Timeout, fault.Message);
    }

    [Fact]
    public async Task GivenAConnectionThatIsLost_WhenAChangeWaitsForItsAnswer_ThenItIsNotMadeTwice()
    {
        await using TestBroker broker = await StartAsync();
        await using var cutter = new AnswerCutter(broker.Address);
        await using var client = new EQueueClient(cutter.Address);
        await client.Admin.DescribeBrokerAsync(Token);
        cutter.ToCut = 1;
        EQueueException fault = await Assert.ThrowsAsync<EQueueException>(
            async () => await client.Admin.CreateTopicAsync("other", TopicSettings.None, Token));
        Assert.Equal(ErrorCode.ConnectionLost, fault.Code);
    }

    private static async Task<TestBroker> StartAsync()
    {
        TestBroker broker = await TestBroker.StartAsync();
        await broker.Client.Admin.CreateTopicAsync("t", TopicSettings.None with { QueueCount = 1 }, Token);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("t", "one"u8, key: "key");
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["t"]);
        await foreach (ReceivedMessage _ in consumer.ReadAllAsync(Token))
            break;
        return broker;
    }

    private static async Task ReadAsync<T>(IAsyncEnumerable<T> items)
    {
        await foreach (T _ in items)
        {
        }
    }
}
