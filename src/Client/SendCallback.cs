namespace EQueue.Client;

/// <summary>Told once what became of a message.</summary>
/// <param name="state">What the sender gave along.</param>
/// <param name="receipt">Where it is; meaningless with an <paramref name="error"/>.</param>
/// <param name="error">Null when the message is stored.</param>
/// <remarks>Must not throw. With <see cref="ProducerOptions.InlineCompletions"/> it must not block either.</remarks>
public delegate void SendCallback(object? state, SendReceipt receipt, EQueueException? error);
