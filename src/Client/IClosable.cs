namespace EQueue.Client;

/// <summary>What a client makes and closes with itself.</summary>
internal interface IClosable : IAsyncDisposable
{
    /// <summary>Ends in an orderly way, within a time.</summary>
    ValueTask CloseAsync(TimeSpan timeout);
}
