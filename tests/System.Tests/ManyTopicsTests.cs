using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary><c>equeue topic</c> for hundreds of topics, a process for each verb, against a real server.</summary>
public sealed class ManyTopicsTests
{
    private const int Topics = 300;
    private const int Queues = 3;

    [Fact]
    public async Task GivenAFileOfNames_WhenTopicsAreMadeListedAndDescribed_ThenEachVerbKnowsThemAllAlsoAfterAKill()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        string[] names = [.. Enumerable.Range(0, Topics).Select(number => $"topic-{number:D3}")];
        await File.WriteAllLinesAsync(directory["names"], names);

        ProgramResult created = await RunAsync(server, "create", "--lines", directory["names"], "--queues", $"{Queues}");
        Assert.True(created.ExitCode == 0, created.Error);
        Assert.Equal($"created {Topics} topics\n", created.Error);
        Assert.Equal(Topics * Queues, Lines(created).Length);

        await server.KillAsync();
        await server.RestartAsync();

        ProgramResult listed = await RunAsync(server, "list");
        Assert.Equal(names.Select(name => $"{name}\t{Queues}"), Lines(listed));
        ProgramResult described = await RunAsync(server, "describe", "--lines", directory["names"], "--json");
        Assert.True(described.ExitCode == 0, described.Error);
        Assert.All(names.Zip(Lines(described)), pair =>
        {
            JsonElement topic = JsonDocument.Parse(pair.Second).RootElement;
            Assert.Equal(pair.First, topic.GetProperty("topic").GetString());
            Assert.Equal(Queues, topic.GetProperty("queues").GetArrayLength());
        });

        ProgramResult again = await RunAsync(server, "create", "topic-007", "one-more", "topic-008", "--json");
        Assert.Equal(7, again.ExitCode);
        Assert.Equal("one-more", JsonDocument.Parse(Assert.Single(Lines(again))).RootElement.GetProperty("topic").GetString());
        Assert.Contains("\"topic\":\"topic-007\"", again.Error, StringComparison.Ordinal);
        Assert.Contains("\"topic\":\"topic-008\"", again.Error, StringComparison.Ordinal);

        ProgramResult deleted = await RunAsync(server, "delete", "--lines", directory["names"], "--yes");
        Assert.True(deleted.ExitCode == 0, deleted.Error);
        Assert.Equal([$"one-more\t4"], Lines(await RunAsync(server, "list")));
    }

    private static string[] Lines(ProgramResult result) =>
        result.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries);

    private static Task<ProgramResult> RunAsync(ServerProcess server, params string[] arguments) =>
        ProgramRun.RunAsync("Cli", ["topic", .. arguments, "--server", server.Address]);
}
