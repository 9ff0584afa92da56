using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using EQueue.Support;

namespace EQueue.Packages.Tests;

/// <summary>The programs in samples/ do what their first lines say.</summary>
public sealed class SampleTests
{
    [Fact]
    public async Task GivenABroker_WhenTheProducerIsGivenLines_ThenTheConsumerPrintsThemAndStopsWhenAsked()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var producer = ProgramRun.Start("Producer", [server.Address, "orders"]);
        ProgramResult sent = await producer.FinishAsync(
            Encoding.UTF8.GetBytes("customer-7: two teas\ncustomer-7: the bill\n"));
        Assert.Equal(0, sent.ExitCode);
        string[] receipts = sent.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(2, receipts.Length);
        Assert.EndsWith("offset 0 Durable", receipts[0], StringComparison.Ordinal);
        Assert.EndsWith("offset 1 Durable", receipts[1], StringComparison.Ordinal);

        await using var consumer = ProgramRun.Start("Consumer", [server.Address, "orders", "kitchen"]);
        Assert.Equal("customer-7\ttwo teas", await consumer.OutputReader.ReadLineAsync());
        Assert.Equal("customer-7\tthe bill", await consumer.OutputReader.ReadLineAsync());
        consumer.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await consumer.WaitForExitAsync());
    }

    [Fact]
    public async Task GivenABrokerThatDoesNotAnswer_WhenTheConsumerIsStopped_ThenItEndsInSilenceWithZero()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        await using var consumer = ProgramRun.Start("Consumer", [$"{listener.LocalEndpoint}", "orders", "kitchen"]);
        using Socket connection = await listener.AcceptSocketAsync(TestContext.Current.CancellationToken);
        consumer.Signal(PosixSignal.SIGTERM);
        Assert.Equal((0, ""), (await consumer.WaitForExitAsync(), consumer.Error));
    }

    [Fact]
    public async Task GivenABroker_WhenTheHttpSampleRuns_ThenItReadsWhatItSentAndTellsWhatWasRefused()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--admin", "127.0.0.1:0");
        ProgramResult first = await ProgramRun.RunAsync("Http", server.Admin, "orders", "two teas");
        Assert.Equal(0, first.ExitCode);
        string[] lines = first.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(3, lines.Length);
        Assert.Matches("^stored: queue [0-3] offset 0, durable$", lines[0]);
        Assert.Equal(["read: customer-7 two teas", "read on from 1"], lines[1..]);

        ProgramResult refused = await ProgramRun.RunAsync("Http", server.Admin, "not a name");
        Assert.Equal(1, refused.ExitCode);
        Assert.StartsWith("InvalidName: ", refused.Error, StringComparison.Ordinal);
        Assert.Contains("(retriable: false)", refused.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenMessagesThatCanAndCannotBeHandled_WhenTheWorkerRuns_ThenTheOnesAreHandledAndTheOthersPutAside()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var producer = ProgramRun.Start("Producer", [server.Address, "orders"]);
        await producer.FinishAsync("c: two teas\nc: fail always\nc: the bill\n"u8.ToArray());

        await using var worker = ProgramRun.Start("Worker", [server.Address, "orders", "kitchen"]);
        foreach (string order in (string[])["two teas", "the bill"])
        {
            string? line;
            do
            {
                line = await worker.OutputReader.ReadLineAsync();
            }
            while (line is not null && !line.StartsWith("handled ", StringComparison.Ordinal));
            Assert.Equal($"handled {order}", line);
        }

        await using var reader = ProgramRun.Start("Consumer", [server.Address, "orders.dead", "inspection"]);
        Assert.Equal("c\tfail always", await reader.OutputReader.ReadLineAsync());
        worker.Signal(PosixSignal.SIGTERM);
        Task<byte[]> rest = worker.CollectOutput();
        Assert.Equal(0, await worker.WaitForExitAsync());
        await rest;
    }

    [Fact]
    public async Task GivenADirectory_WhenTheEmbeddedBrokerRunsTwice_ThenTheSecondRunGoesOnBehindTheFirst()
    {
        using var directory = new TempDirectory();
        ProgramResult first = await ProgramRun.RunAsync("Embedded", directory["data"]);
        Assert.Equal(Lines(0), first.OutputText);
        ProgramResult second = await ProgramRun.RunAsync("Embedded", directory["data"]);
        Assert.Equal(Lines(5), second.OutputText);
    }

    private static string Lines(int offset)
        => string.Concat(Enumerable.Range(0, 5).Select(i => $"offset {offset + i}: coffee {i + 1}\n"));
}
