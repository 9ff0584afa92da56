using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Rules: who may do what (docs/security.md).</content>
public sealed partial class EQueueAdmin
{
    /// <summary>Adds a rule at each broker; one that is there already changes nothing. It holds when the task
    /// completes. Until the first rule exists all who are admitted may do everything.</summary>
    /// <param name="rule">The whole of it: rules have no other name.</param>
    /// <param name="cancellationToken">Gives up waiting, not what a broker has begun.</param>
    /// <exception cref="EQueueException">InvalidArgument: its principal, its name, or what the permission means with
    /// such a thing; LimitReached, NotAuthorized, StorageFull.</exception>
    public ValueTask AddRuleAsync(AccessRule rule, CancellationToken cancellationToken = default) =>
        SetRuleAsync(rule, isRemoved: false, cancellationToken);

    /// <summary>Removes a rule at each broker; one that is not there changes nothing. It holds when the task
    /// completes.</summary>
    /// <param name="rule">As it was added.</param>
    /// <param name="cancellationToken">Gives up waiting, not what a broker has begun.</param>
    /// <exception cref="EQueueException">InvalidArgument, NotAuthorized, StorageFull.</exception>
    public ValueTask RemoveRuleAsync(AccessRule rule, CancellationToken cancellationToken = default) =>
        SetRuleAsync(rule, isRemoved: true, cancellationToken);

    /// <summary>All rules in ordinal order of their texts (<see cref="AccessRule.ToString"/>), a page at a time when
    /// there is one broker; of several brokers, those that any of them has.</summary>
    /// <exception cref="EQueueException">NotAuthorized; InternalError: a broker's pages do not lead on.</exception>
    public IAsyncEnumerable<AccessRule> ListRulesAsync(CancellationToken cancellationToken = default) =>
        _calls.ListEachAsync<AccessRule>(
            static async (seed, last, token) =>
            {
                var request = new ListRulesRequest(last?.ToString(), PageSize);
                ListRulesResponse page = await seed.InvokeAsync(request, token).ConfigureAwait(false);
                return (page.Rules, page.HasMore);
            },
            static rule => rule.ToString(),
            static rules => Shares.UniteByName(rules, static rule => rule.ToString()),
            cancellationToken);

    /// <summary>Asks the first broker that answers what it would decide, without doing it.</summary>
    /// <param name="principal">Who would do it, as rules name it; "" = this client itself, and the answer says whom it
    /// is taken for.</param>
    /// <param name="permission">What, not <see cref="Permission.All"/>.</param>
    /// <param name="resource">With what kind of thing.</param>
    /// <param name="name">Its name; "" for the broker.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">InvalidArgument; NotAuthorized: about others it tells those who administer
    /// alone.</exception>
    public async ValueTask<AccessDecision> TestAccessAsync(
        string principal,
        Permission permission,
        ResourceKind resource,
        string name = "",
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(principal);
        ArgumentNullException.ThrowIfNull(name);
        var request = new TestRuleRequest(principal, permission, resource, name);
        TestRuleResponse told = await _calls.InvokeAsync(request, cancellationToken).ConfigureAwait(false);
        return new AccessDecision(told.Principal, told.IsAllowed, told.Reason);
    }

    private async ValueTask SetRuleAsync(AccessRule rule, bool isRemoved, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(rule);
        var request = new SetRuleRequest(rule, isRemoved);
        await _calls.InvokeEachAsync<SetRuleRequest, Done>(_ => request, [], cancellationToken).ConfigureAwait(false);
    }
}
