namespace EQueue.MessageStore;

/// <content>Indexes of sealed segments that are made again.</content>
public sealed partial class QueueStore
{
    private const int MaxRebuildTries = 3;

    private readonly Lock _rebuildLock = new();

    /// <summary>Makes the index of a sealed segment again from the segment, and before it those it continues that
    /// cannot be used. On the thread of a reader or of background work; one at a time.</summary>
    private void RebuildIndex(string path)
    {
        lock (_rebuildLock)
        {
            for (int tries = 1; ; tries++)
            {
                Segment[] segments = _log.Segments;
                try
                {
                    IEnumerable<Segment> whole = segments.TakeWhile(segment => segment.HasIndex);
                    RebuildIndex(path, [.. whole.Where(segment => !segment.IsLost)]);
                    return;
                }
                catch (IOException) when (segments != _log.Segments && tries < MaxRebuildTries)
                {
                    // The cleaner may have taken a file that was needed: what stands there now is looked at.
                }
            }
        }
    }

    private void RebuildIndex(string path, Segment[] chain)
    {
        int at = Array.FindIndex(chain, segment => segment.IndexPath == path);
        if (at < 0)
        {
            return; // a pack took its place meanwhile, or it was removed: the reader looks again
        }
        for (int i = SealedIndexRebuilder.FirstToRebuild(_disk, _log.LogId, chain, at); i <= at; i++)
        {
            Segment segment = chain[i];
            SealedIndexRebuilder.Rebuild(
                _folder,
                (_log.StoreId, _log.LogId),
                chain,
                i,
                _time.GetUtcNow().ToUnixTimeMilliseconds());
            _openSegments.Forget(segment);
            _keyFilters?.Forget(segment);
            Log.IndexRebuilt(_logger, segment.Path);
        }
    }
}
