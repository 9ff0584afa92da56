using System.Globalization;
using EQueue.MessageStore;
using EQueue.Server.Configuration;

namespace EQueue.Server.Hosting;

/// <summary>Whether the volume of the data directory has room for the store, and what can be done when it has
/// not.</summary>
internal static class VolumeRoom
{
    /// <summary>What is missing, and which setting helps; null: nothing is, or it cannot be found out.</summary>
    public static string? FindShortage(ServerOptions options) =>
        options.Broker.Store.Disk is null && TryMeasure(options.Broker.DataDirectory, out long free, out long total)
            && Fit(options) is var fitted && free < fitted.Broker.Store.NeededFreeBytes
            ? Describe(fitted, free, total)
            : null;

    /// <summary>What is needed and which setting helps.</summary>
    /// <param name="options">What the store runs with.</param>
    /// <param name="free">Free bytes of the volume.</param>
    /// <param name="total">Bytes of the volume.</param>
    public static string Describe(ServerOptions options, long free, long total)
    {
        StoreOptions store = options.Broker.Store;
        string need = $"Server:DataDirectory is {options.Broker.DataDirectory}, whose volume has {Round(free)} free of "
            + $"{Round(total)}: {Round(store.NeededFreeBytes)} are needed while Store:SegmentSizeBytes is "
            + $"{SettingKinds.WriteSize(store.SegmentSizeBytes)}. ";
        long smallest = store.MaxBatchBytes + 1024;
        long? fitting = FindFitting(store, free, smallest);
        return need + (fitting is { } size
            ? $"Give it more room, or set Store:SegmentSizeBytes to {SettingKinds.WriteSize(size)} or less."
            : $"Give it more room: messages of {SettingKinds.WriteSize(options.Broker.Limits.MaxMessageBytes)} "
                + "(Limits:MaxMessageBytes) need more than that with any Store:SegmentSizeBytes.");
    }

    /// <summary>The largest power of two with which the store has room; null: there is none.</summary>
    private static long? FindFitting(StoreOptions store, long free, long smallest)
    {
        for (long size = 1 << 30; size >= Math.Max(smallest, StoreOptions.SmallestSegmentBytes); size >>= 1)
        {
            if (size < store.SegmentSizeBytes && (store with { SegmentSizeBytes = size }).NeededFreeBytes <= free)
                return size;
        }

        return null;
    }

    /// <summary>With the sizes that the store uses on this volume.</summary>
    private static ServerOptions Fit(ServerOptions options)
    {
        try
        {
            StoreOptions store = options.Broker.Store with { DataDirectory = options.Broker.DataDirectory };
            return options.WithStore(_ => store.FitToVolume());
        }
        catch (Exception exception) when (exception is IOException or StoreFitException)
        {
            return options;
        }
    }

    private static bool TryMeasure(string directory, out long free, out long total)
    {
        (free, total) = (0, 0);
        try
        {
            var volume = new DriveInfo(directory);
            (free, total) = (volume.AvailableFreeSpace, volume.TotalSize);
            return total > 0;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return false;
        }
    }

    private static string Round(long bytes) => bytes switch
    {
        >= 1L << 30 => string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1L << 30):0.0} GiB"),
        >= 1L << 20 => $"{bytes >> 20} MiB",
        _ => $"{bytes >> 10} KiB",
    };
}
