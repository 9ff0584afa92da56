using System.Text.Json;

namespace EQueue.Cli.Tests;

/// <summary><c>equeue backup</c> and <c>restore</c>: what they print, and how they fail.</summary>
public sealed class BackupCommandTests : CommandTest
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        await DoneAsync("send", "orders", "one coffee");
    }

    [Fact]
    public async Task GivenABroker_WhenBackedUpVerifiedAndRestored_ThenEachSaysWhatItDid()
    {
        CliRun backup = await DoneAsync("backup", PathOf("backup"), "--data", PathOf("data"));
        Assert.Matches(
            @"^copied \d files, \d+ bytes; there already: 0 files, 0 bytes$", backup.OutputLines[0]);
        Assert.Matches("as of 20[0-9TZ:.-]+, positions 0 to [0-9]+$", backup.OutputLines[1]);
        JsonElement again = await JsonOfAsync("backup", PathOf("backup"), "--data", PathOf("data"), "--rate", "1GiB");
        Assert.Equal(
            [
                "backup", "data", "filesCopied", "bytesCopied", "filesPresent", "bytesPresent", "storeId", "time",
                "firstPosition", "endPosition",
            ],
            again.EnumerateObject().Select(property => property.Name));
        Assert.Equal(PathOf("backup"), again.GetProperty("backup").GetString());

        CliRun verified = await DoneAsync("backup", PathOf("backup"), "--verify");
        Assert.Matches(@"^checked \d files, \d+ bytes, as of ", verified.OutputLines[0]);
        Assert.Equal("no damage", verified.OutputLines[1]);
        JsonElement restored = await JsonOfAsync("restore", PathOf("backup"), "--data", PathOf("restored"));
        Assert.Equal(
            ["backup", "data", "files", "bytes", "storeId", "time", "firstPosition", "endPosition"],
            restored.EnumerateObject().Select(property => property.Name));
        Assert.Equal(again.GetProperty("storeId").GetString(), restored.GetProperty("storeId").GetString());
        await DoneAsync("log", "verify", PathOf("restored"));
    }

    [Fact]
    public async Task GivenADamagedFile_WhenVerifiedOrRestored_ThenTheExitCodeIsSixAndTheFileIsNamed()
    {
        await DoneAsync("backup", PathOf("backup"), "--data", PathOf("data"));
        string file = Directory.GetFiles(PathOf("backup"), "*.log.*", SearchOption.AllDirectories).Single();
        byte[] bytes = await File.ReadAllBytesAsync(file);
        bytes[^1] ^= 1;
        await File.WriteAllBytesAsync(file, bytes);

        CliRun verified = await CliRun.RunAsync("backup", PathOf("backup"), "--verify");
        Assert.Equal(ExitCode.Damaged, verified.ExitCode);
        Assert.Contains($"damaged: {file}", verified.OutputLines);
        Assert.StartsWith("next: remove the damaged files", verified.Error, StringComparison.Ordinal);
        CliRun asJson = await CliRun.RunAsync("backup", PathOf("backup"), "--verify", "--json");
        Assert.Equal(ExitCode.Damaged, asJson.ExitCode);
        JsonElement damaged = JsonDocument.Parse(asJson.OutputText).RootElement.GetProperty("damaged");
        Assert.Equal([file], damaged.EnumerateArray().Select(path => path.GetString()));
        await FailsAsync(
            ExitCode.Damaged, "DamagedData", "restore", PathOf("backup"), "--data", PathOf("restored"));
    }

    [Fact]
    public async Task GivenWrongDirectories_WhenBackedUpOrRestored_ThenTheErrorSaysWhatToDo()
    {
        await FailsAsync(ExitCode.NotFound, "NotFound", "restore", PathOf("nothing"), "--data", PathOf("restored"));
        await FailsAsync(ExitCode.NotFound, "NotFound", "backup", PathOf("backup"), "--data", PathOf("nothing"));
        await FailsAsync(ExitCode.Refused, "Refused", "backup", PathOf("data"), "--data", PathOf("data"));
        await DoneAsync("backup", PathOf("backup"), "--data", PathOf("data"));
        CliRun run = await CliRun.RunAsync("restore", PathOf("backup"), "--data", PathOf("data"));
        Assert.Equal(ExitCode.Refused, run.ExitCode);
        Assert.Contains("a broker, or another restore, is using the directory", run.Error, StringComparison.Ordinal);
        Assert.Contains("\nnext: ", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenABackupThatIsCancelled_WhenItEnds_ThenTheExitCodeIs130AndNothingIsCalledABackup()
    {
        using var stop = new CancellationTokenSource();
        await stop.CancelAsync();
        CliRun run = await CliRun.RunAsync(
            ["backup", PathOf("backup"), "--data", PathOf("data")], [], stop.Token);
        Assert.Equal(ExitCode.Interrupted, run.ExitCode);
        await FailsAsync(ExitCode.NotFound, "NotFound", "restore", PathOf("backup"), "--data", PathOf("restored"));
    }
}
