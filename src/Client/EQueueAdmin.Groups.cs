using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Consumer groups: who is in them, how far they are, and where they go on.</content>
public sealed partial class EQueueAdmin
{
    /// <summary>What a broker says that has no share in the group or the topic.</summary>
    private static readonly ErrorCode[] NoShare = [ErrorCode.UnknownGroup, ErrorCode.UnknownTopic];

    /// <summary>Names all groups that have members or progress in ordinal order, a page at a time when there is one
    /// broker.</summary>
    public IAsyncEnumerable<GroupListing> ListGroupsAsync(CancellationToken cancellationToken = default) =>
        _calls.ListEachAsync<GroupListing>(
            static async (seed, last, token) =>
            {
                var request = new ListGroupsRequest(last?.Group, PageSize);
                ListGroupsResponse page = await seed.InvokeAsync(request, token).ConfigureAwait(false);
                return (page.Groups, page.HasMore);
            },
            static group => group.Group,
            Shares.Unite,
            cancellationToken);

    /// <summary>Tells a group's members, who has which queue, and how far the group is behind.</summary>
    /// <param name="group">Its name.</param>
    /// <param name="topic">Only this topic's queues; null = all.</param>
    /// <param name="withAges">Whether the lag is told in time too: the broker looks into the index for each
    /// queue.</param>
    /// <param name="cancellationToken">Ends the wait for the answer.</param>
    /// <exception cref="EQueueException">UnknownGroup, UnknownTopic, InvalidName.</exception>
    public async ValueTask<GroupDescription> DescribeGroupAsync(
        string group, string? topic = null, bool withAges = true, CancellationToken cancellationToken = default) =>
        Shares.Unite(
            await _calls.InvokeEachAsync<DescribeGroupRequest, GroupDescription>(
                _ => new DescribeGroupRequest(group, topic, withAges), NoShare, cancellationToken, topic,
                group).ConfigureAwait(false),
            _directory.ShareCount);

    /// <summary>Sets where a group without members continues: all queues of a broker in one step, or none.</summary>
    /// <param name="group">Its name; with a topic it need not exist, except for <see cref="ResetPosition.By"/>.</param>
    /// <param name="position">Where to; put within what each queue holds.</param>
    /// <param name="topic">The topic; null = every queue that the group has progress in.</param>
    /// <param name="queues">Numbers of the topic's queues; null = all.</param>
    /// <param name="instanceId">Whose progress, in a broadcast group; null = the group's own.</param>
    /// <param name="isPreview">Only tells what would become of each queue.</param>
    /// <param name="cancellationToken">Ends the wait for the answer; what was sent may be done all the same.</param>
    /// <returns>Each queue with what was committed and what is now, or with the error for which it stays as it
    /// is.</returns>
    /// <exception cref="EQueueException">GroupBusy: the group has members; UnknownGroup, UnknownTopic, InvalidName,
    /// InvalidArgument, StorageFull.</exception>
    public async ValueTask<IReadOnlyList<ResetQueue>> ResetGroupOffsetsAsync(
        string group,
        ResetPosition position,
        string? topic = null,
        IReadOnlyList<int>? queues = null,
        string? instanceId = null,
        bool isPreview = false,
        CancellationToken cancellationToken = default)
    {
        IReadOnlyList<BrokerAnswer<ResetOffsetsResponse>> answers =
            await _calls.InvokeEachAsync<ResetOffsetsRequest, ResetOffsetsResponse>(
            RequestAt, NoShare, cancellationToken, topic, group).ConfigureAwait(false);
        return Shares.Unite(answers, _directory.ShareCount);

        ResetOffsetsRequest? RequestAt(int share)
        {
            IReadOnlyList<int>? numbers = Shares.NumbersAt(queues, share, _directory.ShareCount, out bool isAsked);
            return !isAsked ? null : new ResetOffsetsRequest
            {
                Group = group,
                InstanceId = instanceId,
                Topic = topic,
                Numbers = numbers,
                To = position.Target,
                Value = position.Value,
                IsPreview = isPreview,
            };
        }
    }

    /// <summary>Removes a group without members and all its progress, or its progress in one topic.</summary>
    /// <exception cref="EQueueException">UnknownGroup; GroupBusy: it has members; UnknownTopic,
    /// InvalidName.</exception>
    public async ValueTask DeleteGroupAsync(
        string group, string? topic = null, CancellationToken cancellationToken = default) =>
        await _calls.InvokeEachAsync<DeleteGroupRequest, Done>(
            _ => new DeleteGroupRequest(group, topic), NoShare, cancellationToken, topic, group)
            .ConfigureAwait(false);
}
