namespace EQueue.Load.Tests;

public sealed class CommandLineTests
{
    [Theory]
    [InlineData("bogus")]
    [InlineData("limit --sze 3")]
    [InlineData("limit --repeat 0")]
    [InlineData("limit --repeat x")]
    [InlineData("limit --size 9")]
    [InlineData("limit --size 128,")]
    [InlineData("limit --size 4194305")]
    [InlineData("limit --messages 0")]
    [InlineData("limit --seconds -1")]
    [InlineData("limit --api quick")]
    [InlineData("limit --flush never")]
    [InlineData("limit --in-flight 0")]
    [InlineData("limit extra")]
    [InlineData("throughput --inject sideways")]
    public async Task GivenAWrongCommandLine_WhenRun_ThenItExitsWith2AndWritesNothing(string arguments)
    {
        await LoadProgram.DemandRefusalAsync(arguments);
    }

    [Theory]
    [InlineData("bogus", "bogus")]
    [InlineData("limit --repeat x", "--repeat 'x': a number from 1 to 1000")]
    public async Task GivenAWrongCommandLine_WhenTheProgramRuns_ThenItSaysWhy(string arguments, string why)
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(arguments.Split(' '));

        Assert.True(outcome.ExitCode == LoadExit.Usage, outcome.ToString());
        Assert.Contains(why, outcome.Errors, StringComparison.Ordinal);
        Assert.Empty(program.Leftovers);
    }

    [Theory]
    [InlineData("tiny-messages", "--connections", "--rate")]
    [InlineData("sync", "--in-flight", "--consumers")]
    [InlineData("limit", "--limit-block", "--size")]
    public async Task GivenAScenario_WhenAskedForHelp_ThenItShowsWhatItTakesAndNothingElse(
        string scenario, string taken, string other)
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(scenario, "--help");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        Assert.Contains(taken, outcome.Output, StringComparison.Ordinal);
        Assert.DoesNotContain(other, outcome.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("--inject", outcome.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenNamesOfBefore_WhenUsed_ThenTheyMeanTheSameAndAreNotShown()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome help = await program.RunAsync("--help");
        LoadProgram.Outcome run = await program.RunAsync(
            "jellyfish", "--part", "enqueue", "--plant", "short", "--producers", "2", "--messages", "100", "--warmup", "0",
            "--repeat", "1", "--no-limit");

        Assert.DoesNotContain("jellyfish", help.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("cluster-bench", help.Output, StringComparison.Ordinal);
        Assert.True(run.ExitCode == LoadExit.WrongData, run.ToString());
    }

    [Theory]
    [InlineData("sync", "--consumers", "2")]
    [InlineData("remoting", "--api", "message")]
    [InlineData("limit", "--seconds", "1")]
    public void GivenAFlagOfTheContractThatChangesNothing_WhenRead_ThenItIsTaken(string scenario, params string[] flags)
    {
        Scenarios.IScenario found = Scenarios.ScenarioList.Find(scenario)!;

        Assert.Empty(new ScenarioCommand(found, scenario).Command.Parse(flags).Errors);
    }

    [Fact]
    public async Task GivenList_WhenRun_ThenItNamesEveryScenario()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync("list");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        string[] lines = outcome.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        IEnumerable<string> names = lines.Select(line => line.Split(' ')[0]);
        Assert.Equal(Scenarios.ScenarioList.All.Select(scenario => scenario.Name), names);
        Assert.Contains("limit", names);
    }

    [Fact]
    public async Task GivenMoreMemoryToWarmThanThereIs_WhenRun_ThenItExitsWith4AndNamesMemory()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync("limit", "--warm-memory", "4096");

        Assert.True(outcome.ExitCode == LoadExit.MachineLimit, outcome.ToString());
        Assert.Contains("memory", outcome.Errors, StringComparison.Ordinal);
    }
}
