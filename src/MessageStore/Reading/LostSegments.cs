using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>The one verdict on a sealed segment whose file went away under the store.</summary>
/// <remarks>Thread-safe. The first to meet it, a reader or the upkeep, notes it; all others pass over it from then
/// on.</remarks>
/// <param name="log">Whose segments.</param>
/// <param name="open">Lets go of their files.</param>
/// <param name="logger">Told once of each.</param>
internal sealed class LostSegments(CommitLog log, OpenSegments open, ILogger logger)
{
    /// <summary>Notes a segment as lost when a failure says that its file is gone or cannot be opened. What it held is
    /// lost then, and the rest is served: the same verdict as after a restart.</summary>
    /// <param name="failure">Of opening a segment, or of making its index again.</param>
    /// <returns>Whether one was noted now: what failed can be tried again.</returns>
    public bool TryNote(Exception failure)
    {
        string? path = failure switch
        {
            DiskException { Fault: DiskFault.NotFound or DiskFault.Io or DiskFault.Denied } disk => disk.Path,
            StoreFormatException format => format.Path,
            _ => null,
        };
        Segment? lost = path is null
            ? null
            : Array.Find(
                log.Segments,
                segment => segment is { HasIndex: true, IsLost: false }
                    && (segment.Path == path || segment.IndexPath == path));
        if (lost is null)
            return false;
        lost.IsLost = true;
        open.Forget(lost);
        Log.SegmentLost(logger, failure, lost.Path, lost.BasePosition, lost.EndPosition);
        return true;
    }
}
