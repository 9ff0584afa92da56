using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary><c>equeue log</c> over the data directory of a real server.</summary>
public sealed class LogCommandTests
{
    private const int Messages = 1_000;

    [Fact]
    public async Task GivenADamagedCopy_WhenVerified_ThenTheExitCodeIsSixAndTheRangeIsNamed()
    {
        using var directory = new TempDirectory();
        await using (ServerProcess server = await StartWithMessagesAsync(directory))
            Assert.Equal(0, await server.StopAsync());

        ProgramResult whole = await ProgramRun.RunAsync("Cli", "log", "verify", directory["data"], "--json");
        Assert.True(whole.ExitCode == 0, whole.Error);
        JsonElement found = JsonDocument.Parse(whole.Output).RootElement;
        Assert.Equal(
            ["segments", "entries", "messages", "badRanges", "firstPosition", "endPosition"],
            found.EnumerateObject().Select(property => property.Name));
        Assert.Equal(Messages, found.GetProperty("messages").GetInt64());
        Assert.Equal(0, found.GetProperty("badRanges").GetArrayLength());

        string segment = Directory.GetFiles(Path.Combine(directory["data"], "logs", "0"), "*.log").Single();
        // The middle of what was written; file offsets are 4096 ahead of positions in the first segment.
        long position = found.GetProperty("endPosition").GetInt64() / 2;
        Flip(segment, 4096 + position);

        ProgramResult damaged = await ProgramRun.RunAsync("Cli", "log", "verify", directory["data"], "--json");
        Assert.Equal(6, damaged.ExitCode);
        JsonElement range = JsonDocument.Parse(damaged.Output).RootElement.GetProperty("badRanges")[0];
        Assert.Equal(Path.GetFileName(segment), range.GetProperty("segment").GetString());
        long from = range.GetProperty("position").GetInt64();
        Assert.InRange(position, from, from + range.GetProperty("size").GetInt64() - 1);
        Assert.Contains("damaged: ", (await ProgramRun.RunAsync("Cli", "log", "verify", directory["data"])).OutputText,
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenARunningServer_WhenItsLogIsLookedAt_ThenItIsShownAndTheServerGoesOn()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await StartWithMessagesAsync(directory);

        ProgramResult verified = await ProgramRun.RunAsync("Cli", "log", "verify", directory["data"]);
        Assert.True(verified.ExitCode == 0, verified.Error);
        Assert.Contains($"{Messages} messages", verified.OutputText, StringComparison.Ordinal);
        Assert.EndsWith("no damage\n", verified.OutputText, StringComparison.Ordinal);

        ProgramResult inspected = await ProgramRun.RunAsync("Cli", "log", "inspect", directory["data"], "--entries", "--json");
        Assert.Equal(0, inspected.ExitCode);
        JsonElement[] lines = [.. inspected.OutputText
            .Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonDocument.Parse(line).RootElement)];
        Assert.Single(lines, line => line.TryGetProperty("segment", out _));
        Assert.Equal(Messages, lines
            .Where(line => line.TryGetProperty("kind", out JsonElement kind) && kind.GetString() == "Messages")
            .Sum(line => line.GetProperty("records").GetInt64()));
        ProgramResult first = await ProgramRun.RunAsync(
            "Cli", "log", "inspect", directory["data"], "--entries", "--count", "1");
        Assert.Single(first.OutputText.Split('\n'), line => line.StartsWith("entry ", StringComparison.Ordinal));

        ProgramResult sent = await ProgramRun.RunAsync("Cli", "send", "t", "more", "--server", server.Address);
        Assert.Equal(0, sent.ExitCode);
    }

    [Fact]
    public async Task GivenNoDataDirectory_WhenVerified_ThenTheExitCodeIsThree()
    {
        using var directory = new TempDirectory();
        Assert.Equal(3, (await ProgramRun.RunAsync("Cli", "log", "verify", directory["nothing"])).ExitCode);
        Assert.Equal(3, (await ProgramRun.RunAsync("Cli", "log", "inspect", directory.FullPath)).ExitCode);
    }

    private static async Task<ServerProcess> StartWithMessagesAsync(TempDirectory directory)
    {
        ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        await File.WriteAllLinesAsync(directory["lines"], Enumerable.Range(0, Messages).Select(i => $"message {i}"));
        ProgramResult sent = await ProgramRun.RunAsync(
            "Cli", "send", "t", "--lines", directory["lines"], "--rate", "5000", "--server", server.Address);
        Assert.True(sent.ExitCode == 0, sent.Error);
        return server;
    }

    private static void Flip(string path, long at)
    {
        using FileStream file = File.Open(path, FileMode.Open, FileAccess.ReadWrite);
        file.Position = at;
        int value = file.ReadByte();
        file.Position = at;
        file.WriteByte((byte)(value ^ 0xff));
    }
}
