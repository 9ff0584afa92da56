using System.Text.Json;
using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>A real broker, within this process, and commands that are sent to it.</summary>
public abstract class CommandTest : IAsyncLifetime
{
    private readonly TempDirectory _directory = new();
    private protected EQueueBroker Broker { get; private set; } = null!;

    public virtual async ValueTask InitializeAsync() => Broker = await EQueueBroker.StartAsync(new BrokerOptions
    {
        Listen = "127.0.0.1:0",
        DataDirectory = PathOf("data"),
        Store = new StoreOptions
        {
            DataDirectory = PathOf("data"),
            FlushPolicy = FlushPolicy.Async,
            SegmentSizeBytes = 16 << 20,
        },
    });

    public async ValueTask DisposeAsync()
    {
        await Broker.DisposeAsync();
        _directory.Dispose();
        GC.SuppressFinalize(this);
    }

    private protected string PathOf(string file) => _directory[file];

    private protected string[] WithServer(params string[] arguments) =>
        [.. arguments, "--server", $"{Broker.EndPoint}"];

    /// <summary>Runs a command that has to succeed.</summary>
    private protected async Task<CliRun> DoneAsync(params string[] arguments)
    {
        CliRun run = await CliRun.RunAsync(WithServer(arguments));
        Assert.True(run.ExitCode == ExitCode.Done, $"{string.Join(' ', arguments)}: {run.ExitCode} {run.Error}");
        return run;
    }

    /// <summary>What a command prints as one line of JSON.</summary>
    private protected async Task<JsonElement> JsonOfAsync(params string[] arguments) =>
        JsonDocument.Parse((await DoneAsync([.. arguments, "--json"])).OutputText).RootElement;

    /// <summary>Runs a command that has to fail, printing nothing but its error.</summary>
    private protected async Task FailsAsync(int exitCode, string code, params string[] arguments)
    {
        CliRun run = await CliRun.RunAsync(WithServer([.. arguments, "--json"]));
        Assert.Equal(exitCode, run.ExitCode);
        Assert.Empty(run.Output);
        Assert.Equal(
            code, JsonDocument.Parse(run.Error).RootElement.GetProperty("error").GetProperty("code").GetString());
    }
}
