using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Sees to it that connections leave the store the descriptors that it needs.</summary>
internal static class DescriptorPlan
{
    /// <summary>
    /// Descriptors beside connections: 64 segments that readers have open with their indexes, those that are written,
    /// prepared, packed, checked or snapshot (128 together), 320 for the admin port, logs and the runtime.
    /// </summary>
    public const int Kept = 192 + 320;

    /// <summary>Places that there are in any case: with fewer descriptors the store may find none now and then, and
    /// waits.</summary>
    public const int FewestPlaces = 16;

    /// <summary>Raises the process's limit of descriptors as far as it may and says how many connections there may be.
    /// To be called when the store is open.</summary>
    /// <param name="wanted">As the settings say.</param>
    /// <param name="logger">Says when there may be fewer.</param>
    public static int Places(int wanted, ILogger logger)
    {
        if (ProcessDescriptors.RaiseLimit() is not { } limit)
            return wanted;
        int taken = ProcessDescriptors.Taken();
        int places = PlacesOf(wanted, limit, taken);
        if (places < wanted)
            logger.ConnectionsLowered(wanted, places, limit, taken, Kept);
        return places;
    }

    /// <summary>How many connections there may be.</summary>
    /// <param name="wanted">As the settings say.</param>
    /// <param name="limit">Descriptors that the process may have.</param>
    /// <param name="taken">Descriptors that it has.</param>
    public static int PlacesOf(int wanted, long limit, int taken) =>
        (int)Math.Min(wanted, Math.Max(limit - taken - Kept, FewestPlaces));
}
