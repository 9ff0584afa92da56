using EQueue.Support;

namespace EQueue.Client.Tests;

public sealed class EndingsTests
{
    [Fact]
    public async Task GivenAThousandThatEnded_WhenAnotherBegins_ThenOnlyThoseUnderWayAreKept()
    {
        var endings = new Endings();
        var open = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        endings.Begin(new Left(open.Task));
        for (int i = 0; i < 1000; i++)
            endings.Begin(new Left(Task.CompletedTask));

        await Eventually.TrueAsync(() =>
        {
            endings.Begin(new Left(Task.CompletedTask));
            return endings.Count < 10;
        });
        Task all = endings.WhenAllAsync();
        Assert.False(all.IsCompleted);
        open.SetResult();
        await all;
    }

    [Fact]
    public async Task GivenOneThatFailed_WhenTheOthersHaveEnded_ThenItsFailureIsTold()
    {
        var endings = new Endings();
        endings.Begin(new Left(Task.FromException(new InvalidOperationException("It will not end."))));
        for (int i = 0; i < 10; i++)
            endings.Begin(new Left(Task.CompletedTask));
        InvalidOperationException failure = await Assert.ThrowsAsync<InvalidOperationException>(endings.WhenAllAsync);
        Assert.Equal("It will not end.", failure.Message);
    }

    /// <summary>Ends with a task.</summary>
    private sealed class Left(Task end) : IAsyncDisposable
    {
        public ValueTask DisposeAsync() => new(end);
    }
}
