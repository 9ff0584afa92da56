namespace EQueue.Broker.Tests;

/// <summary>Waits for something that comes by itself, up to a deadline.</summary>
internal static class Eventually
{
    public static async Task HoldsAsync(Func<Task<bool>> condition, string what)
    {
        DateTime deadline = DateTime.UtcNow + TestPeer.Patience;
        while (!await condition())
        {
            Assert.True(DateTime.UtcNow < deadline, what);
            await Task.Yield();
        }
    }
}
