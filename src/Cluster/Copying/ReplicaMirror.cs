using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>Keeps a follower's derived files as the leader's are, so that it can be promoted quickly and holds no
/// more than the leader: copies indexes, snapshots and packs, and removes what the leader has none of any
/// more.</summary>
/// <param name="filesLock">Held while the files are changed.</param>
/// <param name="files">The open files, looked at under the lock; null while this node leads.</param>
/// <param name="committed">What is known to be committed.</param>
/// <param name="node">This node's name.</param>
/// <param name="logger">For what does not work.</param>
internal sealed class ReplicaMirror(
    Lock filesLock, Func<ReplicaFiles?> files, Func<LogPosition> committed, string node, ILogger logger)
{
    /// <summary>So fast at most: messages go first.</summary>
    private const long BytesPerSecond = 16 << 20;

    private static readonly TimeSpan RoundTime = TimeSpan.FromSeconds(10);

    /// <summary>Files that were refused because of one that is here, and which: they are not copied again and
    /// again.</summary>
    private readonly Dictionary<string, string> _refused = new(StringComparer.Ordinal);

    private string _told = "";

    /// <summary>Makes one round.</summary>
    /// <param name="link">To the leader, for files alone.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async Task RunOnceAsync(PeerLink link, CancellationToken cancellationToken)
    {
        string trouble = "";
        try
        {
            var copier = new FileCopier(link, BytesPerSecond);
            LeaderFiles listing = await copier.ListAsync(cancellationToken).ConfigureAwait(false);
            foreach (string gone in _refused.Keys.Except(listing.Files.Select(file => file.Name)).ToList())
                _refused.Remove(gone);
            IEnumerable<(string Name, long Length)> wanted =
                listing.Files.OrderByDescending(file => ReplicaFiles.IsSnapshot(file.Name));
            foreach ((string name, long length) in wanted)
            {
                // One file that cannot be had keeps no other from coming, and none from going.
                string? why = await TryMirrorAsync(copier, name, length, cancellationToken).ConfigureAwait(false);
                if (trouble.Length == 0)
                    trouble = why ?? "";

                // Many packs keep no newer snapshot waiting.
                if (copier.Elapsed > RoundTime)
                    break;
            }

            RemoveBelow(listing.Begin);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            // Derived files: the log is whole without them, and the next round tries again.
            trouble = exception.Message;
        }

        if (trouble.Length > 0 && trouble != _told)
            logger.MirrorFailed(node, link.Address, trouble);
        _told = trouble;
    }

    /// <returns>Why the file could not be had; null when it is there, or is not wanted.</returns>
    /// <exception cref="RemotingException">The leader does not answer any more.</exception>
    private async Task<string?> TryMirrorAsync(
        FileCopier copier, string name, long length, CancellationToken cancellationToken)
    {
        try
        {
            await MirrorAsync(copier, name, length, cancellationToken).ConfigureAwait(false);
            return null;
        }
        catch (ReplicaException exception) when (exception.InTheWay is not null)
        {
            _refused[name] = exception.InTheWay;
            return null;
        }
        catch (Exception exception) when (exception is EQueueException or ReplicaException or DiskException)
        {
            return exception.Message;
        }
    }

    private void RemoveBelow(LogPosition begin)
    {
        lock (filesLock)
        {
            LogPosition known = committed();
            if (files() is { } open && begin > open.Begin && begin <= known && begin <= open.Durable)
                open.RemoveBelow(begin, known);
        }
    }

    private async Task MirrorAsync(
        FileCopier copier, string name, long length, CancellationToken cancellationToken)
    {
        ReplicaFiles? open;
        lock (filesLock)
        {
            open = files();
            if (open is null || !open.Follows(name))
                return;
            if (_refused.TryGetValue(name, out string? inTheWay) && open.HasFile(inTheWay))
                return;
        }

        using ReplicaCopy copy = await copier.CopyAsync(open, name, length, cancellationToken).ConfigureAwait(false);
        lock (filesLock)
        {
            if (files() == open)
                copy.Complete(committed());
        }
    }
}
