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
    [InlineData("throughput --plant sideways")]
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
