namespace EQueue.Shop;

/// <summary>Ships orders: each takes a moment and ends with a line in a file.</summary>
internal sealed class Shipping(string file)
{
    private readonly Lock _lock = new();

    /// <summary>Not cancelled when the shop stops: what was begun is finished.</summary>
    public async Task ShipAsync(string order)
    {
        await Task.Delay(20);
        lock (_lock)
            File.AppendAllText(file, order + "\n");
    }
}
