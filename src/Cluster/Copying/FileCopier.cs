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
    /// <summary>After so many looks in which nothing came, the copy is given up.</summary>
    private const int MostIdleLooks = 50;

    private static readonly TimeSpan NextLook = TimeSpan.FromMilliseconds(100);

    private readonly long _began = Stopwatch.GetTimestamp();

    /// <summary>Bytes copied so far.</summary>
    public long Bytes { get; private set; }

    /// <summary>Since it was made.</summary>
    public TimeSpan Elapsed => Stopwatch.GetElapsedTime(_began);

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
    /// <param name="length">How long it was when it was listed.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="RemotingException">No answer.</exception>
    /// <exception cref="EQueueException">InvalidArgument: the file is gone, or another one by now; or the node does not
    /// lead any more.</exception>
    /// <exception cref="ReplicaException">It is not whole.</exception>
    /// <exception cref="DiskException">The disk failed or is full.</exception>
    public async Task<ReplicaCopy> CopyAsync(
        ReplicaFiles files, string name, long length, CancellationToken cancellationToken)
    {
        ReplicaCopy copy = files.BeginCopy(name);
        try
        {
            while (true)
            {
                var request = FrameBuffer.Rent();
                new FilePart(name, copy.Length).Write(new PayloadWriter(request));
                using ResponseFrame part = await link
                    .InvokeAsync(request, PeerOpcode.ReadFile, cancellationToken).ConfigureAwait(false);
                if (part.PayloadSpan.IsEmpty)
                    break;
                copy.Write(part.PayloadSpan);
                Bytes += part.PayloadSpan.Length;
                await PaceAsync(cancellationToken).ConfigureAwait(false);
            }

            if (copy.Length != length)
            {
                throw new EQueueException(
                    ErrorCode.InvalidArgument, $"{name} had {length} bytes, and has {copy.Length} by now.");
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
    /// <remarks>The leader keeps working: it packs and removes segments, and takes new snapshots. It is asked again
    /// for what there is until nothing new ends the log, for what a long copy ends with may be packed by then. A file
    /// that changed or went is looked for in the next list; an index or a snapshot that is not whole is left out: the
    /// one is made anew, and of the other there are two.</remarks>
    /// <returns>The number of files.</returns>
    /// <exception cref="ReplicaException">What can be copied is no log that state can be replayed from.</exception>
    public async Task<int> CopyAllAsync(ReplicaFiles files, CancellationToken cancellationToken)
    {
        files.BeginCopying();
        int count = 0;
        int idle = 0;
        while (true)
        {
            LeaderFiles listing = await ListAsync(cancellationToken).ConfigureAwait(false);
            LogPosition before = files.Tail.End;
            (int copied, bool isWhole) = await CopyListedAsync(files, listing, cancellationToken).ConfigureAwait(false);
            count += copied;
            if (isWhole && files.Tail.End < listing.Begin)
                files.BeginAt(listing.Begin);
            idle = files.Tail.End > before ? 0 : idle + 1;
            if (idle == 0)
                continue;
            string? missing =
                isWhole ? files.EndCopying(listing.Begin) : "what it lists goes before it is copied";
            if (missing is null)
                return count;
            if (idle >= MostIdleLooks)
                throw new ReplicaException($"{link.Address}: {missing}.");
            await Task.Delay(NextLook, cancellationToken).ConfigureAwait(false);
        }
    }

    private async Task<(int Count, bool IsWhole)> CopyListedAsync(
        ReplicaFiles files, LeaderFiles listing, CancellationToken cancellationToken)
    {
        int count = 0;
        foreach ((string name, long length) in listing.Files.Where(file => files.Needs(file.Name)))
        {
            if (await TryCopyAsync(files, name, length, listing.Settled, cancellationToken).ConfigureAwait(false))
                count++;
            else if (ReplicaFiles.IsPiece(name))
                return (count, false);
        }

        return (count, true);
    }

    /// <returns>False when the leader has no such file any more, or when it is not whole and can be done
    /// without.</returns>
    private async Task<bool> TryCopyAsync(
        ReplicaFiles files, string name, long length, LogPosition settled, CancellationToken cancellationToken)
    {
        try
        {
            using ReplicaCopy copy =
                await CopyAsync(files, name, length, cancellationToken).ConfigureAwait(false);
            copy.Complete(settled);
            return true;
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.InvalidArgument)
        {
            return false;
        }
        catch (ReplicaException) when (!ReplicaFiles.IsPiece(name))
        {
            return false;
        }
    }

    private Task PaceAsync(CancellationToken cancellationToken)
    {
        if (bytesPerSecond == 0)
            return Task.CompletedTask;
        double due = (double)Bytes / bytesPerSecond;
        TimeSpan early = TimeSpan.FromSeconds(due) - Elapsed;
        return early > TimeSpan.FromMilliseconds(5) ? Task.Delay(early, cancellationToken) : Task.CompletedTask;
    }
}
