using EQueue.Client;

namespace EQueue.Shop;

/// <summary>A member of the group that ships orders.</summary>
internal sealed class OrderWorker(EQueueClient client, Shipping shipping, ILogger<OrderWorker> logger)
    : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (!stoppingToken.IsCancellationRequested)
        {
            // Disposing commits what was shipped and gives the queues to the other workers.
            await using Consumer consumer = client.CreateConsumer(
                "shipping", ["orders"], new ConsumerOptions { AutoCommitInterval = TimeSpan.FromMilliseconds(200) });
            try
            {
                // Asked to stop, the loop ends behind the order in hand, which counts as done.
                await foreach (ReceivedMessage message in consumer.ReadAllAsync(stoppingToken))
                    await shipping.ShipAsync(message.BodyText ?? "");
            }
            catch (OperationCanceledException) when (stoppingToken.IsCancellationRequested)
            {
                // Asked to stop.
            }
            catch (EQueueException exception) when (exception.IsRetriable)
            {
                logger.LogWarning("The broker cannot be read: {Reason}", exception.Message);
            }
        }
    }
}
