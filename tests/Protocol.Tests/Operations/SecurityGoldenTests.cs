namespace EQueue.Protocol.Tests.Operations;

/// <summary>The bytes of logging in, and of users, tokens and rules, as docs/protocol.md has them.</summary>
public sealed class SecurityGoldenTests
{
    private const string IdBytes = "00112233445566778899aabbccddeeff";
    private const string NoBytes = "00000000000000000000000000000000";

    private static readonly ScramSecret Secret = new(new byte[] { 1, 2 }, 4096, new byte[] { 3 }, new byte[] { 4 });
    private static readonly AccessRule Rule =
        new(RuleEffect.Deny, "user:a", Permission.Write, ResourceKind.Topic, "t*");

    [Fact]
    public void GivenAHelloOfVersion1_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(
            new HelloRequest
            {
                ClientInstanceId = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff"),
                ClientName = "c",
                Mechanism = Mechanisms.Token,
                Credentials = new byte[] { 0x74 },
                MaxFrameBytes = 1 << 24,
            },
            "45515545 0100 0100 0000000000000000" + IdBytes
            + "0100 63 0000 0000 0500 544f4b454e 01000000 74 00000001");
        const string hello = "0100 0000000000000000 00000000" + NoBytes + NoBytes
            + "0000000000000000 0000 00000100 00000000 00000000 0000 0000000000000000";
        var limits = new HelloResponse { Version = 1, MaxFrameBytes = 65536 };
        Holds(new AuthenticatedHello(limits, false, new byte[] { 0x72, 0x3D }, ""), hello + "00 02000000 723d 0000");
        Holds(
            new AuthenticatedHello(limits, true, new byte[] { 0x76 }, "user:a"),
            hello + "01 01000000 76 0600 757365723a61");
    }

    [Fact]
    public void GivenOperationsOnUsers_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(Secret, "02000000 0102 00100000 01000000 03 01000000 04");
        Holds(
            new SetUserRequest("a", Secret, true, ["g", "h"], true),
            "0100 61 01 02000000 0102 00100000 01000000 03 01000000 04 01 01 02000000 0100 67 0100 68 01");
        Holds(new SetUserRequest("a", null, false, [], false), "0100 61 00 00 01 00000000 00");
        Holds(new SetUserRequest("a", null, null, null, false), "0100 61 00 02 00 00");
        Holds(new SetUserRequest("a", null, null, null, false, MustExist: true), "0100 61 00 02 00 02");
        Holds(new DeleteUserRequest("a"), "0100 61");
        Holds(new ListUsersRequest(null, 10), "ffff 0a000000");
        Holds(
            new ListUsersResponse([new UserListing("a", true, false, ["g"])], true),
            "01000000 0100 61 01 00 01000000 0100 67 01");
    }

    [Fact]
    public void GivenOperationsOnTokens_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(new CreateTokenRequest("a", 5, "n"), "0100 61 0500000000000000 0100 6e");
        Holds(new CreateTokenResponse("i", "t"), "0100 69 0100 74");
        Holds(new RevokeTokenRequest("i"), "0100 69");
        Holds(new ListTokensRequest("i", 10), "0100 69 0a000000");
        Holds(
            new ListTokensResponse([new TokenListing("i", "a", 1, 2, "n")], false),
            "01000000 0100 69 0100 61 0100000000000000 0200000000000000 0100 6e 00");
    }

    [Fact]
    public void GivenOperationsOnRules_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(new SetRuleRequest(Rule, true), "02 0600 757365723a61 04 02 0200 742a 01");
        Holds(
            new SetRuleRequest(new AccessRule(RuleEffect.Allow, "*", Permission.All, ResourceKind.Broker, ""), false),
            "01 0100 2a 01 01 0000 00");
        Holds(new ListRulesRequest("x", 10), "0100 78 0a000000");
        Holds(new ListRulesResponse([Rule], true), "01000000 02 0600 757365723a61 04 02 0200 742a 01");
        Holds(new TestRuleRequest("p", Permission.Read, ResourceKind.Group, "g"), "0100 70 03 03 0100 67");
        Holds(new TestRuleResponse("p", true, "r"), "0100 70 01 0100 72");
    }

    [Theory]
    [InlineData(ResourceKind.Topic, "t*", "deny user:a write topic:t*")]
    [InlineData(ResourceKind.Group, "*", "deny user:a write group:*")]
    [InlineData(ResourceKind.Broker, "", "deny user:a write broker")]
    public void GivenARule_WhenPeopleReadIt_ThenItIsInTheirWords(ResourceKind resource, string name, string expected) =>
        Assert.Equal(expected, (Rule with { Resource = resource, Name = name }).ToString());

    private static void Holds<T>(T value, string expected)
        where T : IPayload<T>
    {
        byte[] bytes = OperationCase.Encode(value);
        Assert.Equal(expected.Replace(" ", "", StringComparison.Ordinal), Convert.ToHexStringLower(bytes));
        Assert.True(Payload.TryRead(bytes, out T again));
        Assert.Equal(bytes, OperationCase.Encode(again));
    }
}
