using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>What background work does about a file of a sealed segment that failed it: a damaged index is made again, a
/// segment that is gone is noted as lost. Without that the work would fail at the same file again and again.</summary>
/// <remarks>Thread-safe.</remarks>
/// <param name="disk">Where the segments are.</param>
/// <param name="rebuildIndex">Makes the index of this path again from its segment.</param>
/// <param name="lost">Notes what is gone.</param>
/// <param name="logger">Told when neither helps.</param>
internal sealed class UpkeepRepair(IDisk disk, Action<string> rebuildIndex, LostSegments lost, ILogger logger)
{
    /// <summary>Makes again the index of this path.</summary>
    public void RebuildIndex(string path) => rebuildIndex(path);

    /// <summary>Does what a failure asks for.</summary>
    /// <param name="failure">Of the work.</param>
    /// <returns>Whether the work may try again at once.</returns>
    public bool TryAfter(Exception failure)
    {
        // A segment with bytes that are not as they were written is there: its readers are told which.
        if (failure is not StoreFormatException damage)
            return TryNoteGone(failure);
        if (!damage.Path.EndsWith(LogFiles.IndexSuffix, StringComparison.Ordinal))
            return false;

        try
        {
            rebuildIndex(damage.Path);
            return true;
        }
        catch (DiskException exception) when (TryNoteGone(exception))
        {
            return true; // there is nothing to make it from
        }
        catch (Exception exception)
        {
            Log.BackgroundFileFailed(logger, exception, damage.Path);
            return false;
        }
    }

    /// <summary>Notes the segment as lost whose file is not in its folder. One that cannot be opened just now is left
    /// to those who want to read it.</summary>
    /// <inheritdoc cref="LostSegments.TryNote"/>
    public bool TryNoteGone(Exception failure) =>
        failure is DiskException { Fault: DiskFault.NotFound } missing
        && !missing.Path.EndsWith(LogFiles.IndexSuffix, StringComparison.Ordinal)
        && IsGone(missing.Path)
        && lost.TryNote(failure);

    /// <summary>A folder that is gone itself, or a disk that does not answer, says nothing about its files.</summary>
    private bool IsGone(string path)
    {
        try
        {
            return !disk.Exists(path) && disk.Exists(Path.GetDirectoryName(path)!);
        }
        catch (DiskException)
        {
            return false;
        }
    }
}
