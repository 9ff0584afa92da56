using System.Text.Json;
using System.Text.Json.Nodes;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The server's files: what it takes from them, also while it runs, and what it logs into others.</summary>
public sealed class ConfigurationTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAFileThatChanges_WhenTheServerRuns_ThenWhatCanChangeDoesAndTheRestIsTold()
    {
        using var directory = new TempDirectory();
        Write(directory, new JsonObject { ["Topics"] = new JsonObject { ["RetentionAge"] = "1h" } }, "Warning");
        (ProgramRun run, string address) = await StartAsync(directory);
        await using ProgramRun server = run;
        await using var client = new EQueueClient(address);
        Assert.Equal(TimeSpan.FromHours(1), await MakeAsync(client, "before"));

        Write(
            directory,
            new JsonObject
            {
                ["Topics"] = new JsonObject { ["RetentionAge"] = "2h" },
                ["Limits"] = new JsonObject { ["MaxConnections"] = "77" },
            },
            "Information");
        await Eventually.TrueAsync(() => server.Error.Contains("MaxConnections changed", StringComparison.Ordinal));
        Assert.Contains(
            "Limits:MaxConnections changed from 18000 to 77, which takes effect at the next start", server.Error,
            StringComparison.Ordinal);

        // The level of the log is taken up by itself, maybe a moment later.
        int made = 0;
        await Eventually.TrueAsync(async () =>
        {
            Assert.Equal(TimeSpan.FromHours(2), await MakeAsync(client, $"after{made++}"));
            return server.Error.Contains("Topic after", StringComparison.Ordinal);
        });
        Assert.DoesNotContain("Topic before", server.Error, StringComparison.Ordinal);

        await File.WriteAllTextAsync(directory["appsettings.json"], "{ \"EQueue\": { \"Topics\": { \"QueueCount\": \"0\" } } }", Token);
        await Eventually.TrueAsync(() => server.Error.Contains("is not used", StringComparison.Ordinal));
        Assert.Contains("Topics:QueueCount is '0': allowed is 1 to 10000", server.Error, StringComparison.Ordinal);
        await File.WriteAllTextAsync(directory["appsettings.json"], "{ no JSON", Token);
        await Eventually.TrueAsync(() => server.Error.Split("is not used").Length == 3);
        Assert.Equal(TimeSpan.FromHours(2), await MakeAsync(client, "last"));
    }

    [Fact]
    public async Task GivenRollingFilesInThePlainAndTheJsonForm_WhenTheServerLogs_ThenBothHoldIt()
    {
        using var directory = new TempDirectory();
        Write(directory, [], "Information");
        JsonObject json = JsonNode.Parse(await File.ReadAllTextAsync(directory["appsettings.json"], Token))!.AsObject();
        json["Serilog"]!["WriteTo"] = new JsonArray(
            Sink(directory["plain-.log"], null),
            Sink(directory["json-.log"], "Serilog.Formatting.Json.JsonFormatter, Serilog"));
        await File.WriteAllTextAsync(directory["appsettings.json"], json.ToJsonString(), Token);
        (ProgramRun run, _) = await StartAsync(directory);
        await using ProgramRun server = run;
        server.Signal(global::System.Runtime.InteropServices.PosixSignal.SIGTERM);
        Assert.Equal(0, await server.WaitForExitAsync());
        string plain = Assert.Single(Directory.GetFiles(directory.FullPath, "plain-*.log"));
        Assert.Contains("Stopping: answering what was read", await File.ReadAllTextAsync(plain, Token), StringComparison.Ordinal);
        string[] lines = await File.ReadAllLinesAsync(Assert.Single(Directory.GetFiles(directory.FullPath, "json-*.log")), Token);
        Assert.Contains(lines, line =>
        {
            using var entry = JsonDocument.Parse(line);
            return entry.RootElement.GetProperty("MessageTemplate").GetString()!
                .StartsWith("Stopping", StringComparison.Ordinal);
        });
    }

    [Fact]
    public async Task GivenAFileWithAMistake_WhenOnlyCheckedOrStarted_ThenItEndsWithTwoAndSaysWhich()
    {
        using var directory = new TempDirectory();
        Write(directory, new JsonObject { ["Store"] = new JsonObject { ["FlushInterval"] = "2h" } }, "Information");
        foreach (string[] arguments in (string[][])[["--check-config"], ["--data", directory["data"]]])
        {
            await using var run = ProgramRun.Start("Server", arguments, directory.FullPath);
            ProgramResult result = await run.FinishAsync();
            Assert.Equal(2, result.ExitCode);
            Assert.Contains("Store:FlushInterval is '2h': allowed is", result.Error, StringComparison.Ordinal);
        }

        Write(directory, new JsonObject { ["Topics"] = new JsonObject { ["QueueCount"] = "9" } }, "Information");
        await using var good = ProgramRun.Start("Server", ["--check-config"], directory.FullPath);
        ProgramResult shown = await good.FinishAsync();
        Assert.Equal(0, shown.ExitCode);
        Assert.Contains("Topics:QueueCount = 9\n", shown.OutputText, StringComparison.Ordinal);
    }

    private static JsonObject Sink(string path, string? formatter)
    {
        var arguments = new JsonObject { ["path"] = path, ["rollingInterval"] = "Day" };
        if (formatter is not null)
            arguments["formatter"] = formatter;
        return new JsonObject { ["Name"] = "File", ["Args"] = arguments };
    }

    private static void Write(TempDirectory directory, JsonObject settings, string level)
    {
        var json = new JsonObject
        {
            ["EQueue"] = settings,
            ["Serilog"] = new JsonObject { ["MinimumLevel"] = new JsonObject { ["Default"] = level } },
        };
        File.WriteAllText(directory["appsettings.json"], json.ToJsonString());
    }

    private static async Task<(ProgramRun Run, string Address)> StartAsync(TempDirectory directory)
    {
        var run = ProgramRun.Start(
            "Server", ["--data", directory["data"], "--listen", "127.0.0.1:0", "--admin", "none"], directory.FullPath);
        string line = await run.OutputReader.ReadLineAsync(Token) ?? "";
        Assert.StartsWith("ready data=", line, StringComparison.Ordinal);
        return (run, line["ready data=".Length..].Split(' ')[0]);
    }

    private static async Task<TimeSpan?> MakeAsync(EQueueClient client, string topic) =>
        (await client.Admin.CreateTopicAsync(topic, TopicSettings.None, Token)).Settings.RetentionAge;
}
