using EQueue.Cluster.Etcd;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <content>Where a node's copy of the log comes from.</content>
public sealed partial class ClusterNode
{
    /// <summary>Opens the directory; an empty one begins the shard, or is filled from the leader.</summary>
    private async Task<ReplicaFiles> OpenAsync(ShardDirectory directory, ClusterView view, PeerLinks links, Life life)
    {
        ReplicaFiles files = await OpenAsync(directory).ConfigureAwait(false);
        _firstWord.TrySetResult();
        try
        {
            if (view.Shard.State is null)
                await BeginAsync(files, view, life).ConfigureAwait(false);
            ClusterView now = await WaitForClusterAsync().ConfigureAwait(false);
            bool isFirst = now.Shard.State is { Epoch: 0 } state && state.Has(new Seat(_options.Node, life));
            if (!ShardDirectory.IsNew(files) || isFirst)
                return files;
            string told = "";
            while (await CopyAsync(files, now, links).ConfigureAwait(false) is { } trouble)
            {
                if (trouble != told)
                    _logger.CopyFailed(_options.Node, told = trouble);
                await Task.Delay(RetryInterval, _time, _stopping.Token).ConfigureAwait(false);
                if (files.Note.IsCopying)
                {
                    // What was copied may be gone at the leader by now.
                    files.Dispose();
                    files = await OpenAsync(directory).ConfigureAwait(false);
                }

                now = await WaitForClusterAsync().ConfigureAwait(false);
            }

            return files;
        }
        catch
        {
            files.Dispose();
            throw;
        }
    }

    /// <summary>Opens the directory as it is, and waits while the disk has no room for that.</summary>
    private async Task<ReplicaFiles> OpenAsync(ShardDirectory directory)
    {
        string told = "";
        while (true)
        {
            try
            {
                return directory.Open(_stopping.Token);
            }
            catch (DiskException exception) when (exception.Fault == DiskFault.Full)
            {
                if (exception.Message != told)
                    _logger.DiskFull(_options.Node, told = exception.Message);
                await Task.Delay(RetryInterval, _time, _stopping.Token).ConfigureAwait(false);
            }
        }
    }

    /// <summary>Begins the shard, if that is this node's to do. The directory knows the life that takes the seat before
    /// etcd does: a node that is killed in between continues in its next life.</summary>
    private async Task BeginAsync(ReplicaFiles files, ClusterView view, Life life)
    {
        if (view.Nodes[0] == _options.Node && ShardDirectory.IsNew(files))
            files.Persist(RecordCodec.Write(ReplicaRecord.Empty(life, view.Cluster.IsSync)));
        await RetryAsync(token => _shard.TryBeginAsync(new Seat(_options.Node, life), token)).ConfigureAwait(false);
    }

    /// <summary>Fills an empty directory from the leader.</summary>
    /// <returns>What keeps it from that; null when it is done.</returns>
    private async Task<string?> CopyAsync(ReplicaFiles files, ClusterView view, PeerLinks links)
    {
        if (view.Shard.State?.Leader is not { Node: { } leader } || leader == _options.Node
            || !view.Addresses.TryGetValue(leader, out string? address))
        {
            return "no other node leads yet";
        }

        PeerLink link = links.OpenBulk(leader, address);
        await using (link.ConfigureAwait(false))
        {
            try
            {
                await link.ConnectAsync(_stopping.Token).ConfigureAwait(false);
                var copier = new FileCopier(link, bytesPerSecond: 0);
                int count = await copier.CopyAllAsync(files, _stopping.Token).ConfigureAwait(false);
                _logger.Copied(_options.Node, count, copier.Bytes, leader, files.Tail.End.Value);
                return null;
            }
            catch (Exception exception) when (exception is RemotingException or EQueueException or ReplicaException
                or DiskException { Fault: DiskFault.Full })
            {
                return $"{leader} at {address}: {exception.Message}";
            }
        }
    }

    private async Task MirrorAsync(Replica replica, PeerLinks links, CancellationToken cancellationToken)
    {
        ReplicaMirror mirror = replica.NewMirror();
        PeerLink? link = null;
        try
        {
            while (true)
            {
                await Task.Delay(MirrorInterval, _time, cancellationToken).ConfigureAwait(false);
                if (replica.LeaderName is not { } leader || links.Find(leader) is not { IsConnected: true } told)
                    continue;
                if (link is null || link.Node != leader || link.Address != told.Address)
                {
                    if (link is not null)
                        await link.DisposeAsync().ConfigureAwait(false);
                    link = links.OpenBulk(leader, told.Address);
                }

                await mirror.RunOnceAsync(link, cancellationToken).ConfigureAwait(false);
            }
        }
        finally
        {
            if (link is not null)
                await link.DisposeAsync().ConfigureAwait(false);
        }
    }
}
