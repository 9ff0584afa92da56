using EQueue.Server.Engine;

namespace EQueue.Server.Tests.Services;

/// <summary>What a node does before it may have to lead.</summary>
public sealed class EngineWarmUpTests
{
    [Fact]
    public async Task GivenANodeThatStarts_WhenItWarmsUp_ThenEveryRequestIsAnsweredAndNoFileIsMade()
    {
        await EngineWarmUp.RunAsync(TestContext.Current.CancellationToken);
        Assert.False(Directory.Exists("/warm-up"));
    }

    [Fact]
    public async Task GivenANodeThatStops_WhenItWarmsUp_ThenThatEnds()
    {
        using var stopped = new CancellationTokenSource();
        await stopped.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => EngineWarmUp.RunAsync(stopped.Token));
    }
}
