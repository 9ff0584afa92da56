using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The command line in pipelines whose reader ends before it, each program in a process of its own.</summary>
public sealed class PipeTests
{
    private const string Topic = "orders";
    private const string Group = "billing";

    /// <summary>More than the pipe and what the command gathers hold together, by far.</summary>
    private const int Count = 5_000;

    /// <summary>A printed message: 1,000 bytes and the line's end.</summary>
    private const int LineBytes = 1_001;

    /// <summary>What a pipe of Linux holds. Nobody can tell what stands in it from what was read: once the command has
    /// written it, a commit that is due covers it.</summary>
    private const int PipeBytes = 64 << 10;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData("")]
    [InlineData("--follow")]
    public async Task GivenHeadThatTakesThreeLines_WhenAGroupIsConsumed_ThenWhatWasNotPrintedIsNotCommitted(string option)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var client = new EQueueClient(server.Address);
        await SendAsync(client, Count);

        ProgramResult piped = await PipeAsync(
            $"consume {Topic} --group {Group} --server {server.Address} {option}", "head -3");

        Assert.Equal(3, piped.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
        Assert.Equal("exit 0\n", piped.Error);
        // head reads 8 KiB at once, until it has its three lines.
        const int TakenBytes = (3 * LineBytes) + (8 << 10);
        Assert.InRange(await CommittedAsync(client), 0, (PipeBytes + TakenBytes) / LineBytes);
    }

    [Fact]
    public async Task GivenAReaderThatGoesAfterACommit_WhenItRestsInThePipe_ThenNoMoreThanThePipeHeldIsCommittedUnread()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var client = new EQueueClient(server.Address);
        await SendAsync(client, Count);
        await using var run = ProgramRun.Start(
            "Cli", ["consume", Topic, "--group", Group, "--server", server.Address]);

        // Without a reader it stands in a write, with more to print than the pipe holds, and commits nothing.
        Stream output = run.OutputReader.BaseStream;
        byte[] line = new byte[LineBytes];
        await output.ReadExactlyAsync(line, Token);
        await Eventually.PassedAsync(TimeSpan.FromSeconds(1));
        int read = 1;
        for (; await CommittedAsync(client) == 0; read++)
            await output.ReadExactlyAsync(line, Token);

        run.OutputReader.Close();
        Assert.Equal(0, await run.WaitForExitAsync());
        Assert.InRange(await CommittedAsync(client), 1, read + (PipeBytes / LineBytes));
    }

    [Fact]
    public async Task GivenAReaderThatWent_WhenFollowingWithoutAMessageToPrint_ThenItEndsAndWhatWasPrintedIsCommitted()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var client = new EQueueClient(server.Address);
        await SendAsync(client, 3);

        ProgramResult piped = await PipeAsync(
            $"consume {Topic} --group {Group} --server {server.Address} --follow", "head -3");

        Assert.Equal(3, piped.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
        Assert.Equal("exit 0\n", piped.Error);
        Assert.Equal(3, await CommittedAsync(client));
    }

    [Fact]
    public async Task GivenNoReaderAtAll_WhenVerbsPrint_ThenEachEndsInSilence()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var client = new EQueueClient(server.Address);
        await SendAsync(client, 1_000);
        await client.Admin.ResetGroupOffsetsAsync(Group, ResetPosition.Begin, Topic, cancellationToken: Token);
        string[] lines =
        [
            "topic list", "topic describe orders --json", "group list --json", "group lag --watch --interval 100ms",
            "find orders --last 1000", "consume orders --queue 0 --json", "consume --help",
        ];

        foreach (string line in lines)
        {
            await using var run = ProgramRun.Start("Cli", [.. line.Split(' '), "--server", server.Address]);
            run.OutputReader.Close();
            int exitCode = await run.WaitForExitAsync();
            Assert.True(exitCode == 0 && run.Error.Length == 0, $"{line}: {exitCode} {run.Error}");
        }
    }

    [Fact]
    public async Task GivenNoReaderOfReceipts_WhenLinesAreSent_ThenAllOfThemAreSentAllTheSame()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var client = new EQueueClient(server.Address);
        await client.Admin.CreateTopicAsync(Topic, cancellationToken: Token);
        await using var run = ProgramRun.Start(
            "Cli", ["send", Topic, "--lines", "-", "--receipts", "--server", server.Address]);
        run.OutputReader.Close();
        await run.Input.WriteAsync(Encoding.UTF8.GetBytes(string.Concat(Enumerable.Repeat("line\n", 10_000))), Token);
        run.Input.Close();

        Assert.Equal(0, await run.WaitForExitAsync());
        Assert.Contains("sent 10000 messages", run.Error, StringComparison.Ordinal);
    }

    /// <summary>Both ends of a pipe; the exit code of the first stands on standard error. What does not end by itself is
    /// ended, and has another exit code then.</summary>
    private static Task<ProgramResult> PipeAsync(string line, string reader) => ToolRun.RunAsync(
        "/bin/sh",
        "-c",
        $"{{ timeout 60 dotnet '{ProgramFiles.AssemblyOf("Cli")}' {line}; echo \"exit $?\" >&2; }} | {reader}");

    private static async Task SendAsync(EQueueClient client, int count)
    {
        await client.Admin.CreateTopicAsync(
            Topic, new TopicSettings { QueueCount = 1 }, cancellationToken: Token);
        await using Producer producer = client.CreateProducer();
        byte[] body = Encoding.ASCII.GetBytes(new string('x', 1_000));
        await Task.WhenAll(Enumerable.Range(0, count).Select(
            _ => producer.SendAsync(Topic, body, cancellationToken: Token).AsTask()));
    }

    private static async Task<long> CommittedAsync(EQueueClient client) =>
        (await client.Admin.ReadGroupOffsetsAsync(Group, Topic, Token)).Sum(offset => Math.Max(0, offset.Value));
}
