namespace EQueue.Replication;

/// <summary>Tells late answers of etcd from an etcd that was restored: late answers are few, and true ones come between
/// them; a restored etcd gives nothing else.</summary>
internal sealed class EtcdAge
{
    /// <summary>So many reads in a row that are older than what was acted on are no late answers.</summary>
    private const int OlderReadsOfARestore = 10;

    private int _olderReads;
    private bool _isTold;

    /// <summary>Notes a read of etcd.</summary>
    /// <param name="isOlder">Whether it shows less than what was acted on.</param>
    /// <returns>True once, when so many were older that etcd was restored.</returns>
    public bool IsRestored(bool isOlder)
    {
        _olderReads = isOlder ? _olderReads + 1 : 0;
        if (_isTold || _olderReads < OlderReadsOfARestore)
            return false;
        _isTold = true;
        return true;
    }
}
