using System.Text.Json;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// The members of a group: <c>prepare</c> with a <see cref="MembersOrder"/>, <c>change</c> with a
/// <see cref="MemberChange"/>, <c>state</c> for who has what, <c>judge</c>.
/// </summary>
internal sealed class MembersRole : IRole
{
    private readonly List<GroupLane> _present = [];
    private readonly List<GroupLane> _gone = [];
    private MembersOrder? _order;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        switch (command)
        {
            case "prepare":
                _order = RoleJson.Read<MembersOrder>(argument);
                for (int number = 0; number < _order.Members; number++)
                    Add();
                return null;
            case "change":
                return await ChangeAsync(RoleJson.Read<MemberChange>(argument));
            case "state":
                return new MembersState(_present.Count, [.. _present.SelectMany(lane => lane.Held())]);
            default:
                return await JudgeAsync(RoleJson.Read<JudgeOrder>(argument));
        }
    }

    public async ValueTask DisposeAsync()
    {
        await Task.WhenAll(_present.Concat(_gone).Select(lane => lane.DisposeAsync().AsTask()));
    }

    private void Add()
    {
        var lane = new GroupLane(_order!, _present.Count + _gone.Count);
        _present.Add(lane);
        lane.Start();
    }

    private async Task<MemberChanged> ChangeAsync(MemberChange change)
    {
        long startNs = Clock.NowNs;
        if (change == MemberChange.Join)
        {
            Add();
            return new MemberChanged(startNs);
        }

        GroupLane last = _present[^1];
        _present.Remove(last);
        _gone.Add(last);
        await (change == MemberChange.Leave ? last.LeaveAsync() : last.KillAsync());
        return new MemberChanged(startNs);
    }

    /// <summary>The members leave; what all of them processed, the gone ones too, is compared with what was sent.</summary>
    private async Task<CheckResult> JudgeAsync(JudgeOrder order)
    {
        foreach (GroupLane lane in _present)
            await lane.LeaveAsync();
        return SequenceChecker.Judge([.. _present.Concat(_gone).Select(lane => lane.Checker)], order.Sent);
    }
}
