using System.Globalization;
using EQueue.MessageStore;
using EQueue.Server.Configuration;

namespace EQueue.Server.Engine;

/// <summary>Whether the volume of the data directory has room for the store, and what can be done when it has
/// not.</summary>
internal static class VolumeRoom
{
    /// <summary>What is missing, and which setting helps; null: nothing is, or it cannot be found out.</summary>
    public static string? FindShortage(ServerOptions options) =>
        options.Broker.Store.Disk is null && TryMeasure(options.Broker.DataDirectory, out long free, out long total)
            && Fit(options) is var fitted && free < fitted.Broker.Store.NeededFreeBytes
            ? Describe(options, fitted.Broker.Store, free, total)
            : null;

    private static string Describe(ServerOptions options, StoreOptions store, long free, long total)
    {
        string need = $"Server:DataDirectory is {options.Broker.DataDirectory}, whose volume has {Round(free)} free of "
            + $"{Round(total)}: {Round(store.NeededFreeBytes)} are needed while Store:SegmentSizeBytes is "
            + $"{SettingKinds.WriteSize(store.SegmentSizeBytes)}. ";
        return need + (FindFitting(options, store, free) is { } size
            ? $"Give it more room, or set Store:SegmentSizeBytes to {SettingKinds.WriteSize(size)} or less."
            : $"Give it more room: messages of {SettingKinds.WriteSize(options.Broker.Limits.MaxMessageBytes)} "
                + "(Limits:MaxMessageBytes) need more than that with any Store:SegmentSizeBytes.");
    }

    /// <summary>The largest power of two below the present size with which a start would have room, its reserve
    /// included; null: there is none.</summary>
    private static long? FindFitting(ServerOptions options, StoreOptions fitted, long free)
    {
        for (long size = 1 << 30; size >= StoreOptions.SmallestSegmentBytes; size >>= 1)
        {
            if (size < fitted.SegmentSizeBytes && WithSegments(options, size) is { } smaller
                && smaller.Broker.Store.NeededFreeBytes <= free)
            {
                return size;
            }
        }

        return null;
    }

    /// <summary>What a start with smaller segments would run with; null: messages are too large for them.</summary>
    private static ServerOptions? WithSegments(ServerOptions options, long size)
    {
        try
        {
            return Fit(SettingsSource.WithBatchLimit(
                options.WithStore(store => store with { SegmentSizeBytes = size })));
        }
        catch (ConfigurationException)
        {
            return null;
        }
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
