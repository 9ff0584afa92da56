using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support.Fuzz;

namespace EQueue.Broker.Tests;

/// <summary>
/// A broker that is sent mutations of every request after a good Hello: typed answers or a closed connection, and
/// another client is served all the while. EQUEUE_FUZZ_INPUTS and EQUEUE_FUZZ_SEED as for <see cref="FuzzRun"/>; one
/// input in 40 is sent here.
/// </summary>
public sealed class MutatedRequestTests : IAsyncLifetime
{
    private const int RequestsPerConnection = 50;
    private const uint LastId = uint.MaxValue;
    private const long Ample = 1 << 30;

    private static readonly int Connections = Math.Max(1, FuzzRun.Inputs / 40 / RequestsPerConnection);

    private readonly Dictionary<Opcode, ByteMutator> _bodies = Enum.GetValues<Opcode>().ToDictionary(
        static opcode => opcode,
        static opcode => new ByteMutator(
            Corpus.Read(opcode == Opcode.Produce ? "ProduceBody" : $"{opcode}Request"), FuzzRun.Seed));

    private TestBroker _broker = null!;
    private TestPeer _good = null!;
    private QueueId _queue;
    private long _served;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(TestBroker.SmallOptions() with
        {
            Limits = new LimitOptions { MaxTopics = 100, MaxQueuesPerTopic = 16, MaxQueues = 500, MaxGroups = 200 },
        });
        _good = await _broker.ConnectAsync("good");

        // What the corpus speaks of is there: topic t with queue 5.
        await _good.CreateTopicAsync("t", queues: 8);
        _queue = (await _good.CreateTopicAsync("served")).Queues[0].Id;

        // Quotas of everybody are not theirs.
        foreach (string name in (string[])["good", "raw"])
            await _good.InvokeAsync(new SetQuotaRequest(new Quota(QuotaKind.Client, name, Ample, Ample, Ample)));
        await _good.InvokeAsync(new SetQuotaRequest(new Quota(QuotaKind.Topic, "served", Ample, Ample, Ample)));
    }

    public async ValueTask DisposeAsync()
    {
        await _good.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public Task GivenMutatedBodies_WhenSent_ThenEachIsAnsweredTypedAndOthersAreServed() =>
        SendBodiesAsync([.. _bodies.Keys.Where(static opcode => opcode != Opcode.SetQuota)], Connections);

    /// <summary>By themselves: a quota of topic t would let the others wait.</summary>
    [Fact]
    public Task GivenMutatedQuotas_WhenSent_ThenEachIsAnsweredTypedAndOthersAreServed() =>
        SendBodiesAsync([Opcode.SetQuota], Math.Max(1, Connections / 20));

    [Fact]
    public async Task GivenMutatedFrames_WhenSent_ThenTheConnectionEndsAndOthersAreServed()
    {
        var frames = new ByteMutator(Corpus.Read("Frames"), FuzzRun.Seed);
        for (int connection = 0; connection < Connections; connection++)
        {
            using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
            await raw.SayHelloAsync();
            await raw.SendAsync(frames.Make(connection).ToArray());
            raw.EndSending();
            while (await raw.ReceiveHeaderAsync() is { } answer)
                AssertTyped(answer, $"connection {connection}");
            await AssertServedAsync();
        }

        await AssertUnharmedAsync();
    }

    private async Task SendBodiesAsync(Opcode[] opcodes, int connections)
    {
        var random = new Random(FuzzRun.Seed);
        int answered = 0;
        for (int connection = 0; connection < connections; connection++)
        {
            using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
            await raw.SayHelloAsync();
            List<byte> frames = [];
            Dictionary<uint, Opcode> asked = [];
            for (uint id = 1; id <= RequestsPerConnection; id++)
            {
                int number = (connection * RequestsPerConnection) + (int)id;
                Opcode opcode = opcodes[random.Next(opcodes.Length)];
                bool isOneway = random.Next(10) == 0;
                frames.AddRange(RawConnection.Frame(opcode, _bodies[opcode].Make(number), isOneway ? (ushort)2 : (ushort)0, id));
                if (!isOneway)
                    asked.Add(id, opcode);
            }

            frames.AddRange(RawConnection.Frame(Opcode.Stats, [], correlation: LastId));
            await raw.SendAsync([.. frames]);
            answered += await ReadAnswersAsync(raw, asked, connection);
            await AssertServedAsync();
        }

        Assert.True(answered > connections * RequestsPerConnection / 2, $"only {answered} answers came");
        await AssertUnharmedAsync();
    }

    /// <returns>How many answers came before the last one.</returns>
    private static async Task<int> ReadAnswersAsync(
        RawConnection raw, Dictionary<uint, Opcode> asked, int connection)
    {
        for (int count = 0; ; count++)
        {
            FrameHeader? answer = await raw.ReceiveHeaderAsync();
            Assert.True(answer is not null, $"Connection {connection} of seed {FuzzRun.Seed} ended.");
            FrameHeader header = answer.Value;
            if (header.CorrelationId == LastId)
                return count;
            string what = $"connection {connection}, request {header.CorrelationId} of seed {FuzzRun.Seed}";
            Assert.True(asked.Remove(header.CorrelationId, out Opcode opcode), $"Nobody asked: {what}.");
            Assert.Equal(opcode, (Opcode)header.Opcode);
            AssertTyped(header, what);
        }
    }

    private static void AssertTyped(in FrameHeader answer, string what)
    {
        var error = (ErrorCode)answer.Error;
        Assert.True(answer.IsResponse, $"No answer: {what}.");
        Assert.True(
            Enum.IsDefined(error) && error != ErrorCode.InternalError, $"{(Opcode)answer.Opcode}: {error}, {what}.");
    }

    private async Task AssertServedAsync()
    {
        string value = $"{_served++}";
        ProduceResult result = Assert.Single(
            await _good.ProduceAsync(Durability.Written, (_queue, Messages.Batch(value))));
        Assert.Equal(ErrorCode.None, result.Error);
    }

    private async Task AssertUnharmedAsync()
    {
        Assert.False(_broker.Broker.Completion.IsCompleted, "The broker stopped.");
        await Support.Eventually.TrueAsync(async () => await _good.FigureAsync("broker.connections") == 1);
        Assert.Equal(0, await _good.FigureAsync("broker.parkedFetches"));
        Assert.Equal(0, await _good.FigureAsync("broker.parkedHeartbeats"));
    }
}
