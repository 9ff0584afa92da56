using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>What background work does about a damaged index that it met: the index is made again, and the work tries
/// anew.</summary>
internal static class IndexRepair
{
    /// <summary>Rebuilds the index that a failure names.</summary>
    /// <param name="failure">Of the work; only a damaged index can be mended.</param>
    /// <param name="rebuild">Makes the index of this path again.</param>
    /// <param name="logger">Told when that fails.</param>
    /// <returns>Whether it was made again.</returns>
    public static bool TryAfter(Exception failure, Action<string> rebuild, ILogger logger)
    {
        if (failure is not StoreFormatException damage
            || !damage.Path.EndsWith(LogFiles.IndexSuffix, StringComparison.Ordinal))
        {
            return false;
        }

        try
        {
            rebuild(damage.Path);
            return true;
        }
        catch (Exception exception)
        {
            Log.BackgroundFileFailed(logger, exception, damage.Path);
            return false;
        }
    }
}
