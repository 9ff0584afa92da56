using System.Diagnostics;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Cluster;

/// <summary>Copies files of the leader's log.</summary>
/// <param name="link">To the leader, for files alone.</param>
/// <param name="bytesPerSecond">At most so fast; 0 = as fast as they come.</param>
internal sealed class FileCopier(PeerLink link, long bytesPerSecond)
{
    private readonly long _began = Stopwatch.GetTimestamp();

    /// <summary>Bytes copied so far.</summary>
    public long Bytes { get; private set; }

    /// <summary>Asks which files there are.</summary>
    /// <exception cref="RemotingException">No answer.</exception>
    /// <exception cref="EQueueException">The node refuses: it does not lead.</exception>
    public async Task<LeaderFiles> ListAsync(CancellationToken cancellationToken)
    {
        using ResponseFrame response = await link
            .InvokeAsync(FrameBuffer.Rent(), PeerOpcode.ListFiles, cancellationToken).ConfigureAwait(false);
        return Payload.TryRead(response.PayloadSpan, out FileListing listing)
            ? listing.Files
            : throw new EQueueException(ErrorCode.MalformedRequest, $"{link.Address} lists files in a way of its own.");
    }

    /// <summary>Copies the bytes of a file and checks it; it gets its name by <see
    /// cref="ReplicaCopy.Complete"/>.</summary>
    /// <param name="files">Whose copy it becomes.</param>
    /// <param name="name">The file.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="RemotingException">No answer.</exception>
    /// <exception cref="EQueueException">The file is gone, or the node does not lead any more.</exception>
    /// <exception cref="ReplicaException">It is not whole.</exception>
    /// <exception cref="DiskException">The disk failed or is full.</exception>
    public async Task<ReplicaCopy> CopyAsync(ReplicaFiles files, string name, CancellationToken cancellationToken)
    {
        ReplicaCopy copy = files.BeginCopy(name);
        try
        {
            while (true)
            {
                FrameBuffer request = FrameBuffer.Rent();
                new FilePart(name, copy.Length).Write(new PayloadWriter(request));
                using ResponseFrame part = await link
                    .InvokeAsync(request, PeerOpcode.ReadFile, cancellationToken).ConfigureAwait(false);
                if (part.PayloadSpan.IsEmpty) break;
                copy.Write(part.PayloadSpan);
                Bytes += part.PayloadSpan.Length;
                await PaceAsync(cancellationToken).ConfigureAwait(false);
            }

            copy.Check();
            return copy;
        }
        catch
        {
            copy.Dispose();
            throw;
        }
    }

    /// <summary>Makes an empty directory a replica of what is committed, marked while that is not done: packs and
    /// sealed segments in the order of positions, their indexes, snapshots.</summary>
    /// <returns>The number of files.</returns>
    public async Task<int> CopyAllAsync(ReplicaFiles files, CancellationToken cancellationToken)
    {
        LeaderFiles listing = await ListAsync(cancellationToken).ConfigureAwait(false);
        files.SetCopying(true);
        foreach ((string name, _) in listing.Files)
        {
            using ReplicaCopy copy = await CopyAsync(files, name, cancellationToken).ConfigureAwait(false);
            copy.Complete(listing.Settled);
        }

        if (files.Tail.End < listing.Begin) files.BeginAt(listing.Begin);
        files.SetCopying(false);
        return listing.Files.Count;
    }

    private Task PaceAsync(CancellationToken cancellationToken)
    {
        if (bytesPerSecond == 0) return Task.CompletedTask;
        double due = (double)Bytes / bytesPerSecond;
        TimeSpan early = TimeSpan.FromSeconds(due) - Stopwatch.GetElapsedTime(_began);
        return early > TimeSpan.FromMilliseconds(5) ? Task.Delay(early, cancellationToken) : Task.CompletedTask;
    }
}
