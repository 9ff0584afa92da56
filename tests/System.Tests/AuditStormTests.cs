using System.Text.Json;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The audit file of a server process under a storm of administration by those who would forge lines.</summary>
public sealed class AuditStormTests
{
    private const int Peers = 4;
    private const int OperationsEach = 2_500;

    private static readonly string[] Names =
    [
        "orders", "bills", "users", "a\n{\"seq\":1,\"principal\":\"owner\",\"operation\":\"DeleteTopic\"}",
        "b\",\"outcome\":\"done", "c\u2028\u0085d", "e\r\n\r\n",
    ];

    [Fact]
    public async Task GivenAStormOfHostileNames_WhenItIsOver_ThenTheFileHasALineForEachOperationInOrderAndNoOther()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        List<Told>[] asked = await Task.WhenAll(
            Enumerable.Range(0, Peers).Select(peer => StormAsync(server.Address, peer)));
        Assert.Equal(0, await server.StopAsync());

        Told[] told = [.. (await File.ReadAllLinesAsync(directory["data/audit.jsonl"])).Select(Told.Read)];
        Assert.Equal(Enumerable.Range(1, Peers * OperationsEach), told.Select(static one => one.Seq));
        for (int peer = 0; peer < Peers; peer++)
        {
            string client = ClientOf(peer);
            Assert.Equal(asked[peer], told.Where(one => one.Client == client).Select(static one => one with { Seq = 0 }));
        }

        Assert.True(told.Select(static one => one.Operation).Distinct().Count() >= 7);
        Assert.InRange(told.Count(static one => one.Outcome == "done"), 1_000, told.Length - 1_000);
        Assert.Contains(told, static one => one.Resource.Contains('\n'));
    }

    private static string ClientOf(int peer) => $"storm-{peer}\",\"seq\":{peer}";

    private static async Task<List<Told>> StormAsync(string address, int peer)
    {
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = address, ClientName = ClientOf(peer) });
        EQueueAdmin admin = client.Admin;
        var random = new Random(peer);
        List<Told> asked = [];
        for (int i = 0; i < OperationsEach; i++)
        {
            string name = Names[random.Next(Names.Length)];
            await (random.Next(7) switch
            {
                0 => AskAsync(
                    Opcode.CreateTopic, $"topic:{name}",
                    async () => await admin.CreateTopicAsync(name, new TopicSettings { QueueCount = 1 })),
                1 => AskAsync(
                    Opcode.AlterTopic, $"topic:{name}",
                    async () => await admin.AlterTopicAsync(name, new TopicSettings { RetentionCount = i + 1 })),
                2 => AskAsync(Opcode.DeleteTopic, $"topic:{name}", async () => await admin.DeleteTopicAsync(name)),
                3 => AskAsync(
                    Opcode.SetQuota, $"quota:topic:{name}",
                    async () => await admin.SetQuotaAsync(new Quota(QuotaKind.Topic, name, i + 1, 0, 0))),
                4 => AskAsync(
                    Opcode.SetUser, $"user:{name}",
                    async () => await admin.SetUserAsync(name, isDisabled: i % 2 == 0)),
                5 => AskAsync(Opcode.DeleteUser, $"user:{name}", async () => await admin.DeleteUserAsync(name)),
                _ => AskAsync(Opcode.DeleteGroup, $"group:{name}", async () => await admin.DeleteGroupAsync(name)),
            });
        }

        return asked;

        async Task AskAsync(Opcode operation, string resource, Func<Task> ask)
        {
            string outcome = "done";
            try
            {
                await ask();
            }
            catch (EQueueException exception)
            {
                outcome = $"{exception.Code}";
            }

            asked.Add(new Told(0, ClientOf(peer), $"{operation}", resource, outcome));
        }
    }

    private sealed record Told(int Seq, string Client, string Operation, string Resource, string Outcome)
    {
        public static Told Read(string line)
        {
            JsonElement one = JsonDocument.Parse(line).RootElement;
            Assert.Equal(9, one.EnumerateObject().Count());
            Assert.Equal("owner", one.GetProperty("principal").GetString());
            return new Told(
                one.GetProperty("seq").GetInt32(), Text("client"), Text("operation"), Text("resource"), Text("outcome"));

            string Text(string key) => one.GetProperty(key).GetString()!;
        }
    }
}
