using System.Text;
using System.Text.RegularExpressions;
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

    /// <summary>The commands as they stand, but for the ports; then the node that leads is killed under a sender.</summary>
    [Fact]
    public async Task GivenTheThreeBrokers_WhenTheOneThatLeadsIsKilledWhileLinesAreSent_ThenAllArriveOnce()
    {
        Assert.SkipUnless(ToolRun.IsInstalled("etcd"), "etcd is not there");
        using var directory = new TempDirectory();
        int[] ports = FreePorts.Take(5);
        string etcd = $"http://127.0.0.1:{ports[3]}", peer = $"http://127.0.0.1:{ports[4]}";
        string commands = DocumentFile.Read("README.md").Block("cluster").Text
            .Replace("out/", $"{ProgramFiles.Root}/out/", StringComparison.Ordinal)
            .Replace(
                "--data-dir etcd-data",
                $"--data-dir etcd-data --listen-client-urls {etcd} --advertise-client-urls {etcd} --listen-peer-urls {peer} "
                + $"--initial-advertise-peer-urls {peer} --initial-cluster default={peer}",
                StringComparison.Ordinal)
            .Replace("cluster create", $"cluster create --etcd {etcd}", StringComparison.Ordinal)
            .Replace("--Cluster:Node", $"--Cluster:Etcd {etcd} --Cluster:Node", StringComparison.Ordinal)
            .Replace(":9490", $":{ports[0]}", StringComparison.Ordinal)
            .Replace(":9492", $":{ports[1]}", StringComparison.Ordinal)
            .Replace(":9494", $":{ports[2]}", StringComparison.Ordinal);
        ProgramResult result = await ToolRun.RunAsync(
            "/bin/sh", "-c",
            $"""
            cd '{directory.FullPath}' || exit 1
            trap 'kill -9 $(jobs -p)' EXIT
            {commands}
            equeue='{ProgramFiles.Root}/out/equeue'
            left=100
            until $equeue cluster status --etcd {etcd} >status 2>&1
            do
                left=$((left - 1))
                [ $left -gt 0 ] || {"{"} cat status a.log b.log c.log; exit 1; {"}"}
                sleep 0.3
            done
            nodes=127.0.0.1:{ports[0]},127.0.0.1:{ports[1]},127.0.0.1:{ports[2]}
            seq 1 3000 >lines
            $equeue --server $nodes send words --lines lines --rate 1000 >sent 2>&1 &
            sender=$!
            sleep 1
            kill -9 $(pgrep -P $$ -f -- '--data data-a')
            wait $sender || {"{"} cat sent; exit 1; {"}"}
            $equeue --server $nodes consume words --group check | sort -n | cmp - lines && echo same
            """);
        Assert.True(result.OutputText.EndsWith("same\n", StringComparison.Ordinal), $"{result.OutputText}\n{result.Error}");
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
        const string Using = "using EQueue.Client;";
        string example = DocumentFile.Read("README.md").Block("example").Text.TrimStart();
        Assert.StartsWith(Using, example, StringComparison.Ordinal);
        example = example[Using.Length..].Replace("\"localhost:9490\"", "address", StringComparison.Ordinal);
        Assert.Contains(Unspaced(example), source, StringComparison.Ordinal);
    }

    private static async Task RunExampleAsync(
        string address, Func<ReceivedMessage, Task> HandleAsync, CancellationToken cancellationToken)
    {
        await using var client = new EQueueClient(address);
        await using Producer producer = client.CreateProducer();
        SendReceipt receipt = await producer.SendAsync("orders", "one coffee", key: "customer-7", tag: "paid");

        await using Consumer consumer = client.CreateConsumer(group: "billing", topics: ["orders"]);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(cancellationToken))
            await HandleAsync(message); // progress is committed behind you
    }

    private static string Unspaced(string text) => SpacePattern().Replace(text, " ");

    [GeneratedRegex(@"\s+")]
    private static partial Regex SpacePattern();
}
