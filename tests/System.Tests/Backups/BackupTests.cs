using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary><c>equeue backup</c> and <c>equeue restore</c> beside real servers.</summary>
public sealed class BackupTests
{
    [Theory]
    [InlineData("sync")]
    [InlineData("async")]
    public async Task GivenLoad_WhenBackedUpTwiceAndKilled_ThenTheRestoredBrokerServesAConsistentPoint(string flush)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await StartAsync(directory["data"], "--flush", flush);
        BackupLoad load = await BackupLoad.StartAsync(server.Address);
        try
        {
            await load.GoOnAsync(2_000);
            JsonElement first = await BackUpAsync(directory);
            Assert.Equal(0, first.GetProperty("filesPresent").GetInt64());
            await load.GoOnAsync(2_000);

            var (messages, committed) = await load.NoteAsync();
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
            await using ServerProcess copy = await StartAsync(directory["restored"], "--flush", flush);
            await load.CheckAsync(copy.Address, messages, committed);
            ProgramResult verified = await ProgramRun.RunAsync("Cli", "log", "verify", directory["restored"]);
            Assert.True(verified.ExitCode == 0, verified.OutputText);
        }
        finally
        {
            await load.DisposeAsync();
        }
    }

    [Fact]
    public async Task GivenARunningServer_WhenTheWrongDirectoryIsNamed_ThenItIsRefusedAndNothingChanges()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await StartAsync(directory["data"]);
        await using ServerProcess other = await StartAsync(directory["other"]);
        await BackUpAsync(directory);
        (int Code, string Words, string[] Line)[] cases =
        [
            (5, "a broker, or another restore, is using", ["restore", directory["backup"], "--data", directory["data"]]),
            (5, "the backup is of the store", ["backup", directory["backup"], "--data", directory["other"]]),
            (5, "is not empty", ["backup", directory["other"], "--data", directory["data"]]),
            (5, "must not lie in each other", ["backup", Path.Combine(directory["data"], "b"), "--data", directory["data"]]),
            (3, "is no data directory of a broker", ["backup", directory["backup"], "--data", directory["nothing"]]),
            (3, "holds no backup", ["restore", directory["nothing"], "--data", directory["restored"]]),
            (3, "holds no backup", ["backup", directory["nothing"], "--verify"]),
            (2, "--verify looks at the backup alone", ["backup", directory["backup"], "--verify", "--data", "x"]),
        ];
        foreach ((int code, string words, string[] line) in cases)
        {
            ProgramResult result = await ProgramRun.RunAsync("Cli", line);
            Assert.True(result.ExitCode == code, $"{string.Join(' ', line)}: {result.ExitCode} {result.Error}");
            Assert.Contains(words, result.Error, StringComparison.Ordinal);
        }

        ProgramResult whole = await ProgramRun.RunAsync("Cli", "backup", directory["backup"], "--verify");
        Assert.True(whole.ExitCode == 0, whole.Error);
        Assert.EndsWith("no damage\n", whole.OutputText, StringComparison.Ordinal);
    }

    private static async Task<JsonElement> BackUpAsync(TempDirectory directory)
    {
        ProgramResult result = await ProgramRun.RunAsync(
            "Cli", "backup", directory["backup"], "--data", directory["data"], "--json");
        Assert.True(result.ExitCode == 0, result.Error);
        return JsonDocument.Parse(result.Output).RootElement;
    }

    private static Task<ServerProcess> StartAsync(string data, params string[] arguments) => ServerProcess.StartAsync(
        data,
        ["--Store:SegmentSizeBytes", $"{1 << 20}", "--Limits:MaxMessageBytes", $"{64 << 10}", .. arguments]);
}
