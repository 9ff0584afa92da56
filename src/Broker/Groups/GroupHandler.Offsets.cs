using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <content>Progress: commits and reads.</content>
internal sealed partial class GroupHandler
{
    private const int MaxCommittedQueues = 10_000;
    private const int MaxCommitBytes = 1 << 20;

    public ValueTask<ReadOffsetsResponse> ReadAsync(
        BrokerConnection peer, ReadOffsetsRequest request, CancellationToken cancellationToken)
    {
        TopicRules.CheckName(request.Group, "group");
        Group? group = groups.Find(request.Group);
        IEnumerable<FetchQueueKey> queues = request.Queues
            ?? group?.CommittedQueues.Where(queue => catalogue.TryFindByQueue(queue.Id, out _))
            ?? [];
        return ValueTask.FromResult(new ReadOffsetsResponse(
        [
            .. queues.Select(queue => group?.Find(queue) is { } offset
                ? new CommittedOffset(queue, offset.Next, offset.RecordEpoch, offset.Metadata)
                : new CommittedOffset(queue, new QueueOffset(-1), -1, null)),
        ]));
    }

    /// <summary>
    /// Stores progress. The answer leaves when the commit is as safe as the flush policy says; the receive loop goes on
    /// before.
    /// </summary>
    public async ValueTask CommitAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        Interlocked.Increment(ref counters.Commits);
        try
        {
            if (!Payload.TryRead(payload.Span, out CommitOffsetsRequest request))
                throw new EQueueException(ErrorCode.MalformedRequest, $"The {payload.Length} bytes are not a commit.");
            CheckCommit(request);
            await peer.BeginRequestAsync();
            try
            {
                await CommitAsync(peer, header, request);
            }
            catch
            {
                peer.EndRequest();
                throw;
            }
        }
        catch (OperationCanceledException) when (peer.IsClosed)
        {
            // Nobody is left to be answered.
        }
        catch (Exception exception)
        {
            failures.Answer(peer, header, exception);
        }
    }

    private static void CheckCommit(CommitOffsetsRequest request)
    {
        TopicRules.CheckName(request.Group, "group");
        if (request.Offsets.Count > MaxCommittedQueues)
            throw TopicRules.Invalid(
                $"A commit names at most {MaxCommittedQueues} queues; it names {request.Offsets.Count}.");
        long bytes = request.Offsets.Sum(offset => 300L + (offset.Metadata?.Length ?? 0));
        if (bytes > MaxCommitBytes)
            throw TopicRules.Invalid(
                $"A commit takes at most {MaxCommitBytes} bytes of state; this one takes {bytes}: cut it.");
    }

    private async ValueTask CommitAsync(BrokerConnection peer, FrameHeader header, CommitOffsetsRequest request)
    {
        while (true)
        {
            Group group = request.Member == Guid.Empty
                ? groups.FindOrAdd(request.Group)
                : groups.Find(request.Group) ?? throw UnknownMember(request.Group, request.Member);
            switch (TryCommit(peer, header, request, group))
            {
                case AppendStatus.Accepted:
                    return;
                case AppendStatus.NoRoom:
                    await store.WaitForRoomAsync(peer.Closed);
                    break;
                case AppendStatus.Nothing:
                    break;
            }
        }
    }

    /// <summary>Checks who commits and which queues exist, and appends, all within the group's gate.</summary>
    /// <returns>Accepted: the answer is on its way; NoRoom; Nothing: the group is gone, look it up again.</returns>
    private AppendStatus TryCommit(BrokerConnection peer, FrameHeader header, CommitOffsetsRequest request, Group group)
    {
        lock (group.Gate)
        {
            if (group.IsGone)
                return AppendStatus.Nothing;
            CheckCommitter(group, request);
            var results = new ErrorCode[request.Offsets.Count];
            (CommitWaiter.Change[] changes, StateEntry[] entries) = Prepare(group, request, results);
            var waiter = new CommitWaiter(peer, header, group, results, changes) { Commit = group.LastCommit + 1 };
            if (entries.Length == 0)
            {
                groups.DropIfEmpty(group);
                waiter.Fail(ErrorCode.None);
                return AppendStatus.Accepted;
            }

            group.BeginCommit();
            AppendStatus status = store.AppendState(entries, waiter);
            if (status == AppendStatus.Accepted)
                group.LastCommit++;
            else
                group.EndCommit();
            if (status == AppendStatus.Nothing)
                waiter.Fail(ErrorCode.StoreFaulted);
            return status == AppendStatus.NoRoom ? AppendStatus.NoRoom : AppendStatus.Accepted;
        }
    }

    private void CheckCommitter(Group group, CommitOffsetsRequest request)
    {
        DateTimeOffset now = time.GetUtcNow();
        if (request.Member == Guid.Empty)
        {
            if (group.Member is { } live && live.IsLive(now))
                throw Busy(group, live, now);
            return;
        }

        if (group.Member is not { } member || member.Id != request.Member)
            throw UnknownMember(group.Name, request.Member);
    }

    private (CommitWaiter.Change[] Changes, StateEntry[] Entries) Prepare(
        Group group, CommitOffsetsRequest request, ErrorCode[] results)
    {
        long now = time.GetUtcNow().ToUnixTimeMilliseconds();
        var changes = new List<CommitWaiter.Change>(results.Length);
        var entries = new List<StateEntry>(results.Length);
        for (int i = 0; i < results.Length; i++)
        {
            OffsetCommit wanted = request.Offsets[i];
            results[i] = request.Member != Guid.Empty && wanted.Grant != new GroupGeneration(group.Generation)
                ? ErrorCode.FencedGeneration
                : Check(wanted);
            if (results[i] != ErrorCode.None)
                continue;
            var offset = new GroupOffset(wanted.Next, wanted.RecordEpoch, now, wanted.Metadata);
            changes.Add(new CommitWaiter.Change(i, wanted.Queue, offset));
            entries.Add(offset.ToEntry(new GroupOffsetKey(group.Name, wanted.Queue)));
        }

        return ([.. changes], [.. entries]);
    }

    private ErrorCode Check(OffsetCommit wanted)
    {
        if (wanted.Queue.Log != 0
            || !catalogue.TryFindByQueue(wanted.Queue.Id, out _)
            || !store.TryGetQueue(wanted.Queue.Id, out QueueView queue))
            return ErrorCode.UnknownQueue;
        if (wanted.Next.Value < 0 || wanted.Next > queue.StagedEnd)
            return ErrorCode.InvalidArgument;
        return wanted.Metadata is { } metadata
            && Encoding.UTF8.GetByteCount(metadata) > CommittedOffset.MaxMetadataBytes
            ? ErrorCode.InvalidArgument
            : ErrorCode.None;
    }
}
