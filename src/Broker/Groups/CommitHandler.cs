using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Progress of groups: commits, which only the owner of a queue may send, and reads.</summary>
internal sealed class CommitHandler(
    ModuleContext context,
    TopicCatalogue catalogue,
    GroupTable groups,
    HeartbeatHandler heartbeats,
    BacklogTable backlogs,
    ProgressRules rules)
{
    private const int MaxCommittedQueues = 10_000;
    private const int MaxCommitBytes = 1 << 20;
    private const int MaxInstances = 1_000;

    private readonly QueueStore _store = context.Store;
    private readonly StoredGroups _state = context.State.Groups;
    private readonly BrokerCounters _counters = context.Counters;

    public ValueTask<ReadOffsetsResponse> ReadAsync(
        BrokerConnection peer, ReadOffsetsRequest request, CancellationToken cancellationToken)
    {
        (string name, string? instance) = ProgressName.Split(request.Group);
        RequestRules.CheckName(name, "group");
        if (instance is not null)
            RequestRules.CheckName(instance, "instance");
        if (request.Queues is { } asked)
            RequestRules.CheckNamedOnce(asked, "Queue");
        Group? group = groups.Find(name);
        IReadOnlyList<QueueKey> queues = request.Queues
            ?? group?.CommittedQueues(instance).Where(queue => catalogue.TryFindByQueue(queue.Id, out _)).ToArray()
            ?? [];
        return ValueTask.FromResult(new ReadOffsetsResponse(new LazyList<CommittedOffset>(
            queues.Count,
            i => group?.Find(instance, queues[i]) is { } offset
                ? new CommittedOffset(queues[i], offset.Next, offset.RecordEpoch, offset.Metadata)
                : new CommittedOffset(queues[i], new QueueOffset(-1), -1, null))));
    }

    /// <summary>
    /// Stores progress. The answer leaves when the commit is as safe as the flush policy says; the receive loop
    /// continues before.
    /// </summary>
    public async ValueTask CommitAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        Interlocked.Increment(ref _counters.Commits);
        try
        {
            ErrorCode history = HistoryMarks.Take(_store.History.Opening, header.Version, ref payload);
            if (history == ErrorCode.DivergingEpoch)
                throw new EQueueException(history, HistoryMarks.OtherOpening(_store.History.Opening));
            if (history != ErrorCode.None || !Payload.TryRead(payload.Span, out CommitOffsetsRequest request))
                throw new EQueueException(ErrorCode.MalformedRequest, $"The {payload.Length} bytes are not a commit.");
            CheckCommit(request);
            PeerAccess.Of(peer).Check(Opcode.CommitOffsets, Permission.Read, ResourceKind.Group, request.Group);
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
            // No caller is left to be answered.
        }
        catch (Exception exception)
        {
            context.Failures.Answer(peer, header, exception);
        }
    }

    /// <summary>Whether one more instance of a broadcast group may have progress.</summary>
    /// <exception cref="EQueueException">LimitReached.</exception>
    public static void CheckInstance(Group group, string instance)
    {
        IReadOnlySet<string> known = group.Instances;
        if (known.Count >= MaxInstances && !known.Contains(instance))
        {
            throw new EQueueException(
                ErrorCode.LimitReached,
                $"Group '{group.Name}' has progress of {known.Count} instances, the most that a group may "
                + "have: a fixed limit.");
        }
    }

    private static void CheckCommit(CommitOffsetsRequest request)
    {
        RequestRules.CheckName(request.Group, "group");
        if (request.Offsets.Count > MaxCommittedQueues)
        {
            throw RequestRules.Invalid(
                $"A commit names at most {MaxCommittedQueues} queues; it names {request.Offsets.Count}.");
        }

        long bytes = request.Offsets.Sum(offset => 300L + (offset.Metadata?.Length ?? 0));
        if (bytes > MaxCommitBytes)
        {
            throw RequestRules.Invalid(
                $"A commit takes at most {MaxCommitBytes} bytes of state; this one takes {bytes}: cut it.");
        }
    }

    private async ValueTask CommitAsync(BrokerConnection peer, FrameHeader header, CommitOffsetsRequest request)
    {
        while (true)
        {
            Group group = request.Member == Guid.Empty
                ? groups.FindOrAdd(request.Group)
                : groups.Find(request.Group) ?? throw Unknown(request);
            switch (TryCommit(peer, header, request, group))
            {
                case AppendStatus.Accepted:
                    return;
                case AppendStatus.NoRoom:
                    await _store.WaitForRoomAsync(peer.Closed);
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
        TimeSpan now = heartbeats.Now;
        lock (group.Gate)
        {
            if (group.IsGone)
                return AppendStatus.Nothing;
            GroupMember? member = FindCommitter(peer, group, request);
            if (member is not null)
                GroupRoster.Renew(member, now);
            string? instance = FindInstance(group, member);
            var results = new ErrorCode[request.Offsets.Count];
            (CommitWaiter.Change[] changes, StateEntry[] entries) = Prepare(group, member, instance, request, results);
            CheckRoom(group, instance, changes);
            var waiter = new CommitWaiter(peer, header, group, instance, results, changes, heartbeats)
            {
                Commit = group.LastCommit + 1,
            };
            if (entries.Length == 0)
            {
                groups.DropIfEmpty(group);
                waiter.Fail(ErrorCode.None);
                return AppendStatus.Accepted;
            }

            // The waiter may be called before the append returns; it asks for the gate on another thread.
            AppendStatus status = _store.AppendState(entries, waiter);
            if (status == AppendStatus.Accepted)
            {
                group.LastCommit++;
                string name = ProgressName.Of(group.Name, instance);
                bool hasMembers = member is not null || group.Recorded is not null;
                foreach (CommitWaiter.Change change in changes)
                {
                    group.Roster.BeginCommit(change.Queue);
                    backlogs.OnProgress(name, hasMembers, change.Queue.Id, change.Offset.Next);
                }
            }
            else if (status == AppendStatus.Nothing)
            {
                waiter.Fail(ErrorCode.StoreFaulted);
            }

            return status == AppendStatus.NoRoom ? AppendStatus.NoRoom : AppendStatus.Accepted;
        }
    }

    private void CheckRoom(Group group, string? instance, CommitWaiter.Change[] changes)
    {
        string name = ProgressName.Of(group.Name, instance);
        long growth = 0;
        foreach (CommitWaiter.Change change in changes)
            growth += rules.GrowthOf(new GroupOffsetKey(name, change.Queue), change.Offset);
        try
        {
            rules.CheckRoom(group.Name, growth);
        }
        catch
        {
            groups.DropIfEmpty(group);
            throw;
        }
    }

    /// <summary>Who commits; null = no member.</summary>
    private GroupMember? FindCommitter(BrokerConnection peer, Group group, CommitOffsetsRequest request)
    {
        if (request.Member != Guid.Empty)
        {
            GroupMember member = group.Roster.Find(request.Member) ?? throw Unknown(request);
            HeartbeatRules.CheckPrincipal(member, peer, request.Group);
            return member;
        }

        ProgressWriter.CheckFree(group);
        return null;
    }

    private EQueueException Unknown(CommitOffsetsRequest request)
    {
        Interlocked.Increment(ref _counters.FencedCommits);
        return HeartbeatRules.UnknownMember(request.Group, request.Member);
    }

    /// <summary>Under which instance's name a broadcast member's progress is kept; null in a shared group.</summary>
    private static string? FindInstance(Group group, GroupMember? member)
    {
        if (member is null || group.Roster.Kind == GroupKind.Shared)
            return null;
        if (member.InstanceId is not { } instance)
            throw RequestRules.Invalid("A broadcast member without an instance id has no progress.");
        CheckInstance(group, instance);
        return instance;
    }

    private (CommitWaiter.Change[] Changes, StateEntry[] Entries) Prepare(
        Group group, GroupMember? member, string? instance, CommitOffsetsRequest request, ErrorCode[] results)
    {
        long now = _store.NowMs;
        string name = ProgressName.Of(group.Name, instance);
        var changes = new List<CommitWaiter.Change>(results.Length);
        var entries = new List<StateEntry>(results.Length);
        var named = new Dictionary<QueueKey, QueueOffset>();
        for (int i = 0; i < results.Length; i++)
        {
            OffsetCommit wanted = request.Offsets[i];
            var key = new GroupOffsetKey(name, wanted.Queue);
            results[i] = Check(wanted);
            if (results[i] == ErrorCode.None && member is not null)
                results[i] = group.Roster.CheckCommit(member, wanted.Queue, wanted.Grant);
            if (results[i] is ErrorCode.QueueNotOwned or ErrorCode.FencedGeneration)
                Interlocked.Increment(ref _counters.FencedCommits);
            if (results[i] == ErrorCode.None
                && (wanted.Next < _state.FindOffset(key)?.Next
                    || (named.TryGetValue(wanted.Queue, out QueueOffset before) && wanted.Next < before)))
            {
                results[i] = ErrorCode.OffsetBehind;
            }

            if (results[i] != ErrorCode.None)
                continue;
            named[wanted.Queue] = wanted.Next;
            GroupGeneration grant = member is null ? GroupGeneration.None : wanted.Grant;
            var offset = new GroupOffset(wanted.Next, wanted.RecordEpoch, now, grant, wanted.Metadata);
            changes.Add(new CommitWaiter.Change(i, wanted.Queue, offset));
            entries.Add(offset.ToEntry(key));
        }

        return ([.. changes], [.. entries]);
    }

    private ErrorCode Check(OffsetCommit wanted)
    {
        if (wanted.Queue.Log != 0
            || !catalogue.TryFindByQueue(wanted.Queue.Id, out _)
            || !_store.TryGetQueue(wanted.Queue.Id, out QueueView queue))
        {
            return ErrorCode.UnknownQueue;
        }

        if (wanted.Next.Value < 0 || wanted.Next > queue.StagedEnd)
            return ErrorCode.InvalidArgument;
        return wanted.Metadata is { } metadata
            && Encoding.UTF8.GetByteCount(metadata) > CommittedOffset.MaxMetadataBytes
            ? ErrorCode.InvalidArgument
            : ErrorCode.None;
    }
}
