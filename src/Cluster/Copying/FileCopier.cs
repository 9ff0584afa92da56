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
    private static readonly TimeSpan NextLook = TimeSpan.FromMilliseconds(100);

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
    /// <remarks>The leader goes on meanwhile: it packs and removes segments, and takes new snapshots. What has gone
    /// before it was copied is looked for in a new list, and the copy goes on where it was.</remarks>
    /// <returns>The number of files.</returns>
    /// <exception cref="ReplicaException">The leader's log begins behind what was copied by now.</exception>
    public async Task<int> CopyAllAsync(ReplicaFiles files, CancellationToken cancellationToken)
    {
        LeaderFiles listing;
        int count = 0;
        bool isWhole;
        do
        {
            isWhole = true;
            listing = await ListAsync(cancellationToken).ConfigureAwait(false);
            files.SetCopying(true);
            foreach (string name in listing.Files.Select(file => file.Name).Where(files.Needs))
            {
                if (await TryCopyAsync(files, name, listing.Settled, cancellationToken).ConfigureAwait(false))
                {
                    count++;
                    continue;
                }

                isWhole = false;
                await Task.Delay(NextLook, cancellationToken).ConfigureAwait(false);
                break;
            }
        }
        while (!isWhole);

        if (files.Tail.End < listing.Begin) files.BeginAt(listing.Begin);
        files.SetCopying(false);
        return count;
    }

    /// <returns>False when the leader has no such file any more.</returns>
    private async Task<bool> TryCopyAsync(
        ReplicaFiles files, string name, LogPosition settled, CancellationToken cancellationToken)
    {
        try
        {
            using ReplicaCopy copy = await CopyAsync(files, name, cancellationToken).ConfigureAwait(false);
            copy.Complete(settled);
            return true;
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.InvalidArgument)
        {
            return false;
        }
    }

    private Task PaceAsync(CancellationToken cancellationToken)
    {
        if (bytesPerSecond == 0) return Task.CompletedTask;
        double due = (double)Bytes / bytesPerSecond;
        TimeSpan early = TimeSpan.FromSeconds(due) - Stopwatch.GetElapsedTime(_began);
        return early > TimeSpan.FromMilliseconds(5) ? Task.Delay(early, cancellationToken) : Task.CompletedTask;
    }
}
