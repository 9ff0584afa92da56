using System.Text.RegularExpressions;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>What a message tells an operator to do is done as it stands, and helps.</summary>
public sealed partial class AdviceTests
{
    private const int Count = 2_000;

    [Fact]
    [Follows("Start the server once with --Store:AcceptLostState true to go on without it; take a copy")]
    public async Task GivenOneBitOfStateThatRotted_WhenTheRefusalIsFollowed_ThenAllMessagesAreThereForGood()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        await RunCliAsync(server.Address, "topic", "create", "t", "--queues", "1");
        await RunCliAsync(server.Address, "topic", "create", "lost");
        string lines = directory["lines"];
        await File.WriteAllLinesAsync(lines, Enumerable.Range(0, Count).Select(i => $"message {i}"));
        await RunCliAsync(server.Address, "send", "t", "--lines", lines, "--durability", "durable");
        await server.KillAsync();
        FlipBit(directory["data"], "lost"u8);

        ProgramResult refused =
            await ProgramRun.RunAsync("Server", "--data", directory["data"], "--listen", "127.0.0.1:0");
        Assert.Equal(3, refused.ExitCode);
        Assert.Matches("[0-9]+ records between positions [0-9]+ and [0-9]+", refused.Error);
        string[] advised = Advice().Match(refused.Error).Groups["arguments"].Value.Split(' ');
        Assert.Equal(0, (await ToolRun.RunAsync("cp", "-r", directory["data"], directory["copy"])).ExitCode);

        await using (ServerProcess once = await ServerProcess.StartAsync(directory["data"], advised))
        {
            ProgramResult read = await RunCliAsync(once.Address, "consume", "t", "--group", "g", "--from", "begin");
            Assert.Equal(Count, read.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
            Assert.Contains("State was lost by damage", once.Error, StringComparison.Ordinal);
            Assert.Equal(0, await once.StopAsync());
        }

        await using ServerProcess again = await ServerProcess.StartAsync(directory["data"]);
        Assert.Equal(0, await again.StopAsync());

        // The copy is as it was.
        refused = await ProgramRun.RunAsync("Server", "--data", directory["copy"], "--listen", "127.0.0.1:0");
        Assert.Equal(3, refused.ExitCode);
    }

    [Theory]
    [Follows("run 'equeue restore' again, or empty the directory.")]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenARestoreThatWasInterrupted_WhenTheRefusalIsFollowed_ThenTheServerServes(bool isEmptied)
    {
        using var directory = new TempDirectory();
        await using (ServerProcess server = await ServerProcess.StartAsync(directory["data"]))
        {
            await RunCliAsync(server.Address, "send", "t", "kept");
            Assert.Equal(0, await server.StopAsync());
        }

        string[] restore = ["restore", directory["backup"], "--data", directory["restored"]];
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", "backup", directory["backup"], "--data", directory["data"])).ExitCode);
        Assert.Equal(0, (await ProgramRun.RunAsync("Cli", restore)).ExitCode);

        // As a restore that was killed leaves it: its mark is there and not all of the files.
        await File.WriteAllTextAsync(Path.Combine(directory["restored"], "restoring"), "A restore has not ended.\n");
        File.Delete(Path.Combine(directory["restored"], "store"));
        ProgramResult refused =
            await ProgramRun.RunAsync("Server", "--data", directory["restored"], "--listen", "127.0.0.1:0");
        Assert.Equal(3, refused.ExitCode);
        Match advised = Restore().Match(refused.Error);
        Assert.True(advised.Success, refused.Error);

        if (isEmptied)
        {
            Directory.Delete(directory["restored"], recursive: true);
        }
        else
        {
            string[] again = [.. advised.Groups["command"].Value.Split(' ')[1..], .. restore[1..]];
            Assert.Equal(0, (await ProgramRun.RunAsync("Cli", again)).ExitCode);
        }

        await using ServerProcess restored = await ServerProcess.StartAsync(directory["restored"]);
        ProgramResult topics = await RunCliAsync(restored.Address, "topic", "list");
        Assert.Equal(!isEmptied, topics.OutputText.Contains('t', StringComparison.Ordinal));
        Assert.Equal(0, await restored.StopAsync());
    }

    [Fact]
    [Follows("Take the limit away; memory.max of a control group or ")]
    public async Task GivenALimitOfTheAddressSpace_WhenItIsTakenAwayAsTheWarningSays_ThenThereIsNoneToWarnOf()
    {
        if (!OperatingSystem.IsLinux())
            return;
        using var directory = new TempDirectory();
        const long Limit = 64L << 30;
        await using (ServerProcess limited = await ServerProcess.StartLimitedAsync(
            directory["data"], $"as={Limit}:{Limit}", "--flush", "async"))
        {
            Assert.Contains(
                $" WRN 6102 EQueue.Server.Engine.BrokerService The address space is limited to {Limit} bytes",
                limited.Error,
                StringComparison.Ordinal);
            Assert.Equal(0, await limited.StopAsync());
        }

        await using ServerProcess free = await ServerProcess.StartAsync(directory["data"]);
        Assert.DoesNotContain(" 6102 ", free.Error, StringComparison.Ordinal);
        Assert.Equal(0, await free.StopAsync());
    }

    [Fact]
    public async Task GivenADataDirectoryThatIsRemoved_WhenASecondHasPassed_ThenTheServerEndsWithFiveAndSaysWhy()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        await RunCliAsync(server.Address, "send", "t", "a");

        Directory.Delete(directory["data"], recursive: true);

        Assert.Equal(5, await server.WaitForExitAsync());
        Assert.Contains("the data directory was removed or moved", server.Error, StringComparison.Ordinal);
    }

    private static async Task<ProgramResult> RunCliAsync(string server, params string[] arguments)
    {
        ProgramResult result = await ProgramRun.RunAsync("Cli", [.. arguments, "--server", server]);
        Assert.True(result.ExitCode == 0, result.Error);
        return result;
    }

    /// <summary>One bit of the entry that holds the text.</summary>
    private static void FlipBit(string data, ReadOnlySpan<byte> text)
    {
        string segment = Directory.GetFiles(Path.Combine(data, "logs", "0"), "*.log").Order().First();
        byte[] bytes = File.ReadAllBytes(segment);
        int at = bytes.AsSpan().IndexOf(text);
        Assert.True(at > 0, "the topic's record was not found");
        using FileStream file = File.OpenWrite(segment);
        file.Position = at;
        file.WriteByte((byte)(bytes[at] ^ 1));
    }

    [GeneratedRegex("run '(?<command>equeue [a-z]+)' again, or empty the directory")]
    private static partial Regex Restore();

    [GeneratedRegex("Start the server once with (?<arguments>--[^:]+:[A-Za-z]+ [a-z]+)")]
    private static partial Regex Advice();
}
