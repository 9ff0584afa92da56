namespace EQueue.System.Tests;

/// <summary>A member of a group that reads a topic in the background until it has enough or is stopped.</summary>
internal sealed class BackgroundMember : IAsyncDisposable
{
    private readonly CancellationTokenSource _stopping =
        CancellationTokenSource.CreateLinkedTokenSource(TestContext.Current.CancellationToken);

    /// <param name="client">Its connections; outlives it.</param>
    /// <param name="group">The group.</param>
    /// <param name="topic">The topic.</param>
    /// <param name="take">Given each message; says whether to go on.</param>
    public BackgroundMember(
        EQueueClient client,
        string group,
        string topic,
        Func<ReceivedMessage, CancellationToken, ValueTask<bool>> take) => Ended = ReadAsync(client, group, topic, take);

    /// <summary>Completes when it has enough or was stopped; fails with what reading could not ride out.</summary>
    public Task Ended { get; }

    public async Task StopAsync()
    {
        await _stopping.CancelAsync();
        await Ended;
    }

    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await Ended.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _stopping.Dispose();
    }

    private async Task ReadAsync(
        EQueueClient client,
        string group,
        string topic,
        Func<ReceivedMessage, CancellationToken, ValueTask<bool>> take)
    {
        await using Consumer consumer = client.CreateConsumer(group, [topic]);
        try
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(_stopping.Token))
            {
                if (!await take(message, _stopping.Token))
                    return;
            }
        }
        catch (OperationCanceledException)
        {
            // Stopped.
        }
    }
}
