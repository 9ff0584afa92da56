namespace EQueue.Client;

/// <summary>A message's outcome to come: its batch and its token there.</summary>
internal readonly record struct Awaitable(SendBatch Batch, short Token)
{
    public ValueTask<SendReceipt> ToValueTask() => new(Batch, Token);
}
