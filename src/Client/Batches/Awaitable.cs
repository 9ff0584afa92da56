namespace EQueue.Client;

/// <summary>A message's outcome to come: its batch and its number there.</summary>
/// <param name="Batch">Null for none.</param>
/// <param name="Number">The token as a whole word: a short that is kept on the stack is written as one and read as a
/// word, which waits until all that was written before has left the core (14 ns of a send).</param>
internal readonly record struct Awaitable(SendBatch Batch, int Number)
{
    public short Token => (short)Number;

    public ValueTask<SendReceipt> ToValueTask() => new(Batch, Token);
}
