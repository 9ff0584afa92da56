using System.Collections.Immutable;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The operations on users, tokens and rules.</summary>
internal sealed class SecurityHandler(SecurityTable table)
{
    private const int MaxListed = 1_000;

    public async ValueTask<Done> SetUserAsync(
        BrokerConnection peer, SetUserRequest request, CancellationToken cancellationToken)
    {
        await table.SetUserAsync(request, cancellationToken);
        return Done.Value;
    }

    public async ValueTask<Done> DeleteUserAsync(
        BrokerConnection peer, DeleteUserRequest request, CancellationToken cancellationToken)
    {
        await table.DeleteUserAsync(request.Name, cancellationToken);
        return Done.Value;
    }

    public ValueTask<ListUsersResponse> ListUsersAsync(
        BrokerConnection peer, ListUsersRequest request, CancellationToken cancellationToken)
    {
        (UserRecord[] page, bool hasMore) = PageOf(table.Book.Users, request.After, request.Limit);
        return ValueTask.FromResult(new ListUsersResponse([.. page.Select(user => user.ToListing())], hasMore));
    }

    public async ValueTask<CreateTokenResponse> CreateTokenAsync(
        BrokerConnection peer, CreateTokenRequest request, CancellationToken cancellationToken) =>
        await table.CreateTokenAsync(request, cancellationToken);

    public async ValueTask<Done> RevokeTokenAsync(
        BrokerConnection peer, RevokeTokenRequest request, CancellationToken cancellationToken)
    {
        await table.RevokeTokenAsync(request.Id, cancellationToken);
        return Done.Value;
    }

    public ValueTask<ListTokensResponse> ListTokensAsync(
        BrokerConnection peer, ListTokensRequest request, CancellationToken cancellationToken)
    {
        (TokenRecord[] page, bool hasMore) = PageOf(table.Book.Tokens, request.After, request.Limit);
        return ValueTask.FromResult(new ListTokensResponse([.. page.Select(token => token.ToListing())], hasMore));
    }

    public async ValueTask<Done> SetRuleAsync(
        BrokerConnection peer, SetRuleRequest request, CancellationToken cancellationToken)
    {
        await table.SetRuleAsync(request, cancellationToken);
        return Done.Value;
    }

    public ValueTask<ListRulesResponse> ListRulesAsync(
        BrokerConnection peer, ListRulesRequest request, CancellationToken cancellationToken)
    {
        (AccessRule[] page, bool hasMore) = PageOf(table.Book.Rules, request.After, request.Limit);
        return ValueTask.FromResult(new ListRulesResponse(page, hasMore));
    }

    public ValueTask<TestRuleResponse> TestAsync(
        BrokerConnection peer, TestRuleRequest request, CancellationToken cancellationToken)
    {
        var access = PeerAccess.Of(peer);
        string own = access.Principal;
        string principal = request.Principal.Length == 0 ? own : request.Principal;
        if (principal != own)
            access.Check(Opcode.TestRule, Permission.Administer, ResourceKind.Broker, "");
        if (!Principal.IsValid(principal))
            throw RequestRules.Invalid("A principal is user:NAME, cert:NAME, local:UID, anonymous or owner.");
        SecurityRules.Check(request.Permission, request.Resource, request.Name, mayBePrefix: false);
        if (request.Permission == Permission.All)
            throw RequestRules.Invalid("Ask about one permission at a time.");
        return ValueTask.FromResult(table.Explain(principal, request));
    }

    /// <summary>A page of what is sorted: at most ten thousand lines are passed over.</summary>
    private static (T[] Page, bool HasMore) PageOf<T>(
        ImmutableSortedDictionary<string, T> all, string? after, int limit)
    {
        if (limit < 1)
            throw RequestRules.Invalid($"A page has 1 or more lines; asked for {limit}.");
        limit = Math.Min(limit, MaxListed);
        T[] found =
        [
            .. all.Where(one => after is null || string.CompareOrdinal(one.Key, after) > 0)
                .Select(one => one.Value).Take(limit + 1),
        ];
        return (found.Length > limit ? found[..limit] : found, found.Length > limit);
    }
}
