using System.Text;
using EQueue.Client;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Worker;

/// <summary>One member of the group: start the service several times, and the members share the topic's queues.</summary>
internal sealed class OrderWorker(
    EQueueClient client, OrderHandler handler, WorkerOptions options, ILogger<OrderWorker> logger) : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        await using Producer deadLetters = client.CreateProducer();
        // Disposing the consumer commits what was handled and gives its queues to the others at once.
        await using Consumer consumer = client.CreateConsumer(options.Group, [options.Topic]);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(stoppingToken))
            await HandleAsync(message, deadLetters, stoppingToken);
    }

    /// <summary>Returns when the message is handled or stored as a dead letter. When the service stops in between it
    /// throws, and the message goes to another member, or to this one after its start.</summary>
    private async Task HandleAsync(
        ReceivedMessage message, Producer deadLetters, CancellationToken cancellationToken)
    {
        TimeSpan delay = options.FirstDelay;
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                await handler.HandleAsync(message, cancellationToken);
                return;
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                logger.LogWarning(exception, "Attempt {Attempt} at offset {Offset}", attempt, message.Offset.Value);
                if (attempt == options.MostAttempts)
                {
                    await SendDeadLetterAsync(message, exception, deadLetters);
                    return;
                }
            }

            await Task.Delay(delay, cancellationToken);
            delay *= 2;
        }
    }

    /// <summary>The message as it was, with what became of it. Only when that is stored is the message done with.</summary>
    private async Task SendDeadLetterAsync(ReceivedMessage message, Exception reason, Producer deadLetters)
    {
        var properties = new RecordProperties();
        foreach (RecordProperty property in message.Properties)
            properties.Add(property);
        properties.Add("dead.reason", reason.Message);
        properties.Add("dead.from", message.Place.ToString());
        await deadLetters.SendAsync(options.DeadLetters, ContentOf(message, properties));
    }

    private static RecordContent ContentOf(ReceivedMessage message, RecordProperties properties) => new()
    {
        Key = message.HasKey ? new OptionalBytes(message.Key.Span) : default,
        Tag = message.Tag is { } tag ? new OptionalBytes(Encoding.UTF8.GetBytes(tag)) : default,
        Body = message.HasBody ? new OptionalBytes(message.Body.Span) : default,
        Properties = properties,
    };
}
