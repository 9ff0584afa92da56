using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary><c>equeue backup</c> and <c>equeue restore</c> beside real servers.</summary>
public sealed class BackupTests
{
    [Fact]
    public async Task GivenLoad_WhenBackedUpTwiceAndKilled_ThenTheRestoredBrokerServesAConsistentPoint()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await StartAsync(directory["data"]);
        BackupLoad load = await BackupLoad.StartAsync(server.Address);
        try
        {
            await load.GoOnAsync(2_000);
            JsonElement first = await BackUpAsync(directory);
            Assert.Equal(0, first.GetProperty("filesPresent").GetInt64());
            await load.GoOnAsync(2_000);

            (IReadOnlyDictionary<(int Queue, long Offset), string> messages, long[] committed) =
                await load.NoteAsync();
            JsonElement second = await BackUpAsync(directory);
            long copied = second.GetProperty("bytesCopied").GetInt64();
            long total = copied + second.GetProperty("bytesPresent").GetInt64();
            Assert.True(second.GetProperty("filesPresent").GetInt64() >= 3, $"{second}");
            Assert.True(total - copied > 1_000_000, $"{second}");
            await load.GoOnAsync(500);
            await server.KillAsync();

            ProgramResult restored = await ProgramRun.RunAsync(
                "Cli", "restore", directory["backup"], "--data", directory["restored"], "--json");
            Assert.True(restored.ExitCode == 0, restored.Error);
            JsonElement result = JsonDocument.Parse(restored.Output).RootElement;
            Assert.Equal(total, result.GetProperty("bytes").GetInt64());
            Assert.Equal(
                second.GetProperty("endPosition").GetInt64(), result.GetProperty("endPosition").GetInt64());
            await using ServerProcess copy = await StartAsync(directory["restored"]);
            await load.CheckAsync(copy.Address, messages, committed);
            ProgramResult verified = await ProgramRun.RunAsync("Cli", "log", "verify", directory["restored"]);
            Assert.True(verified.ExitCode == 0, verified.OutputText);
        }
        finally
        {
            await load.DisposeAsync();
        }
    }

    private static async Task<JsonElement> BackUpAsync(TempDirectory directory)
    {
        ProgramResult result = await ProgramRun.RunAsync(
            "Cli", "backup", directory["backup"], "--data", directory["data"], "--json");
        Assert.True(result.ExitCode == 0, result.Error);
        return JsonDocument.Parse(result.Output).RootElement;
    }

    private static Task<ServerProcess> StartAsync(string data) => ServerProcess.StartAsync(
        data, "--Store:SegmentSizeBytes", $"{1 << 20}", "--Limits:MaxMessageBytes", $"{64 << 10}");
}
