using EQueue.Client;

namespace Worker;

/// <summary>The work itself.</summary>
internal sealed class OrderHandler
{
    public async Task HandleAsync(ReceivedMessage message, CancellationToken cancellationToken)
    {
        string order = message.BodyText ?? "";
        if (order.StartsWith("fail", StringComparison.Ordinal))
            throw new InvalidOperationException($"'{order}' cannot be handled");
        await Console.Out.WriteLineAsync($"handled {order}".AsMemory(), cancellationToken);
    }
}
