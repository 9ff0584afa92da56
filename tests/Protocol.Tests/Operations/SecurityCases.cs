using static EQueue.Protocol.Tests.Operations.OperationCases;

namespace EQueue.Protocol.Tests.Operations;

/// <summary>The bodies about users, tokens and rules.</summary>
internal static class SecurityCases
{
    public static IReadOnlyList<OperationCase> All =>
    [
        OperationCase.Of(Secret),
        OperationCase.Of(r => User(r, r.Next(3))),
        OperationCase.Of(r => new DeleteUserRequest(Text(r))),
        OperationCase.Of(r => new ListUsersRequest(NullableText(r), r.Next())),
        OperationCase.Of(r => new ListUsersResponse(
            List(r, x => new UserListing(Text(x), x.Next(2) == 0, x.Next(2) == 0, List(x, Text))), r.Next(2) == 0)),
        OperationCase.Of(r => new CreateTokenRequest(Text(r), r.NextInt64(), Text(r))),
        OperationCase.Of(r => new CreateTokenResponse(Text(r), Text(r))),
        OperationCase.Of(r => new RevokeTokenRequest(Text(r))),
        OperationCase.Of(r => new ListTokensRequest(NullableText(r), r.Next())),
        OperationCase.Of(r => new ListTokensResponse(
            List(r, x => new TokenListing(Text(x), Text(x), x.NextInt64(), x.NextInt64(), Text(x))),
            r.Next(2) == 0)),
        OperationCase.Of(r => new SetRuleRequest(Rule(r), r.Next(2) == 0)),
        OperationCase.Of(r => new ListRulesRequest(NullableText(r), r.Next())),
        OperationCase.Of(r => new ListRulesResponse(List(r, Rule), r.Next(2) == 0)),
        OperationCase.Of(r => new TestRuleRequest(
            Text(r), (Permission)r.Next(256), (ResourceKind)r.Next(256), Text(r))),
        OperationCase.Of(r => new TestRuleResponse(Text(r), r.Next(2) == 0, Text(r))),
    ];

    private static ScramSecret Secret(Random random) => new(Bytes(random), random.Next(), Bytes(random), Bytes(random));

    private static SetUserRequest User(Random random, int before) => new(
        Text(random),
        random.Next(2) == 0 ? null : Secret(random),
        random.Next(3) == 0 ? null : random.Next(2) == 0,
        random.Next(3) == 0 ? null : List(random, Text),
        before == 1,
        before == 2);

    private static AccessRule Rule(Random random) => new(
        (RuleEffect)random.Next(256),
        Text(random),
        (Permission)random.Next(256),
        (ResourceKind)random.Next(256),
        Text(random));
}
