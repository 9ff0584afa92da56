using System.Text;
using System.Text.RegularExpressions;
using EQueue.Client;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The README is walked as a new user walks it; its commands print what it says they print.</summary>
public sealed partial class ReadmeTests
{
    [Fact]
    public async Task GivenTheTour_WhenEachCommandIsRun_ThenItPrintsWhatTheReadmeShows()
    {
        Assert.True(
            File.Exists(Path.Combine(ProgramFiles.Root, "out", "equeue")), "out/equeue is missing: run ./build.sh first.");
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        IReadOnlyList<TourStep> steps = DocumentFile.Read("README.md").Block("tour").Steps;
        Assert.InRange(steps.Count, 6, 20);
        foreach ((string command, IReadOnlyList<string> expected) in steps)
        {
            ProgramResult result = await ToolRun.RunAsync(
                "/bin/sh", "-c",
                $"cd '{ProgramFiles.Root}' && export EQUEUE_SERVER={server.Address} && {{ {command}\n}} 2>&1");
            Assert.Equal(TourStep.Normalize(expected), TourStep.Normalize(result.OutputText));
        }
    }

    [Fact]
    public async Task GivenTheExample_WhenRun_ThenItSendsAndReceives()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        using var received = new CancellationTokenSource();
        string? body = null;
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => RunExampleAsync(server.Address, async message =>
        {
            body = Encoding.UTF8.GetString(message.Body.Span);
            await received.CancelAsync();
        }, received.Token));
        Assert.Equal("one coffee", body);
    }

    [Fact]
    public void GivenTheExample_WhenComparedWithTheCodeThatIsRun_ThenTheyAreTheSame()
    {
        string source = Unspaced(File.ReadAllText(
            Path.Combine(ProgramFiles.Root, "tests", "System.Tests", "ReadmeTests.cs")));
        string example = DocumentFile.Read("README.md").Block("example").Text
            .Replace("\"localhost:9490\"", "address", StringComparison.Ordinal);
        Assert.Contains(Unspaced(example), source, StringComparison.Ordinal);
    }

    private static async Task RunExampleAsync(
        string address, Func<ReceivedMessage, Task> HandleAsync, CancellationToken cancellationToken)
    {
        await using var client = new EQueueClient(address);
        await using Producer producer = client.CreateProducer();
        SendReceipt receipt = await producer.SendAsync("orders", "one coffee"u8, key: "customer-7", tag: "paid");

        await using Consumer consumer = client.CreateConsumer(group: "billing", topics: ["orders"]);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(cancellationToken))
            await HandleAsync(message); // progress is committed behind you
    }

    private static string Unspaced(string text) => SpacePattern().Replace(text, " ");

    [GeneratedRegex(@"\s+")]
    private static partial Regex SpacePattern();
}
