using System.Collections.Concurrent;
using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <content>Users who log in, and what is administered of them.</content>
internal sealed partial class FakeBroker
{
    /// <summary>Users, tokens and rules per page of a list.</summary>
    private const int PageSize = 2;

    private readonly ConcurrentDictionary<FrameConnection, ScramServer> _exchanges = [];

    /// <summary>Each Hello that came: its version, and its body.</summary>
    public ConcurrentQueue<(byte Version, byte[] Body)> Hellos { get; } = [];

    /// <summary>Bodies of the requests that administered something.</summary>
    public ConcurrentQueue<byte[]> Administered { get; } = [];

    /// <summary>Whether it is older than logging in.</summary>
    public bool KnowsNoCredentials { get; set; }

    public ConcurrentDictionary<string, ScramSecret> Users { get; } = new(StringComparer.Ordinal);

    public ConcurrentDictionary<string, string> TokenUsers { get; } = new(StringComparer.Ordinal);

    public ConcurrentDictionary<string, UserListing> UserListings { get; } = new(StringComparer.Ordinal);

    public ConcurrentDictionary<string, TokenListing> TokenListings { get; } = new(StringComparer.Ordinal);

    public ConcurrentDictionary<string, AccessRule> Rules { get; } = new(StringComparer.Ordinal);

    /// <summary>Changes what the broker says in an exchange; whether it is done; the message.</summary>
    public Func<bool, string, (bool IsDone, string Challenge)> SayInstead { get; set; } =
        static (isDone, challenge) => (isDone, challenge);

    private void LogIn(FrameConnection connection, FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (KnowsNoCredentials)
        {
            Refuse(connection, header, ErrorCode.UnsupportedVersion, "Version 1 of Hello came.");
            return;
        }

        Assert.True(Payload.TryRead<HelloRequest>(payload, out HelloRequest? hello));
        string text = Encoding.UTF8.GetString(hello.Credentials.Span);
        switch (hello.Mechanism)
        {
            case Mechanisms.InProcess:
                Say(connection, header, isDone: true, "", text);
                break;
            case Mechanisms.Token when TokenUsers.TryGetValue(text, out string? user):
                Say(connection, header, isDone: true, "", $"user:{user}");
                break;
            case Mechanisms.ScramSha256 when _exchanges.TryRemove(connection, out ScramServer? scram):
                if (scram.ReadFinal(hello.Credentials.Span, out byte[]? last) == ScramError.None)
                    Say(connection, header, isDone: true, Encoding.ASCII.GetString(last), $"user:{scram.User}");
                else
                    Refuse(connection, header, ErrorCode.AuthenticationFailed, "The name or the password is wrong.");
                break;
            case Mechanisms.ScramSha256:
                var begun = new ScramServer();
                Assert.Equal(ScramError.None, begun.ReadFirst(hello.Credentials.Span));
                _exchanges[connection] = begun;
                ScramSecret secret =
                    Users.GetValueOrDefault(begun.User) ?? ScramSecret.Mock(new byte[16], begun.User, 4096);
                Say(connection, header, isDone: false, Encoding.ASCII.GetString(begun.Challenge(secret)), "");
                break;
            default:
                Refuse(connection, header, ErrorCode.AuthenticationFailed, "The token is not known.");
                break;
        }
    }

    private void Say(FrameConnection connection, FrameHeader header, bool isDone, string challenge, string principal)
    {
        (isDone, challenge) = SayInstead(isDone, challenge);
        Answer(connection, header, new AuthenticatedHello(
            isDone ? Hello() : new HelloResponse { MaxFrameBytes = 65_536 },
            isDone,
            Encoding.ASCII.GetBytes(challenge),
            isDone ? principal : ""));
    }

    private void Administer(FrameConnection connection, FrameHeader header, ReadOnlySpan<byte> payload)
    {
        Administered.Enqueue(payload.ToArray());
        switch ((Opcode)header.Opcode)
        {
            case Opcode.SetUser:
                SetUserRequest set = Read<SetUserRequest>(payload);
                if (set.MustBeNew && UserListings.ContainsKey(set.Name))
                {
                    Refuse(connection, header, ErrorCode.InvalidArgument, $"There is a user {set.Name}.");
                    return;
                }

                if (set.MustExist && !UserListings.ContainsKey(set.Name))
                {
                    Refuse(connection, header, ErrorCode.InvalidArgument, $"There is no user {set.Name}.");
                    return;
                }

                if (set.Secret is not null)
                    Users[set.Name] = set.Secret;
                UserListings[set.Name] = new UserListing(
                    set.Name, set.IsDisabled ?? false, Users.ContainsKey(set.Name), set.Groups ?? []);
                break;
            case Opcode.DeleteUser:
                UserListings.TryRemove(Read<DeleteUserRequest>(payload).Name, out _);
                break;
            case Opcode.ListUsers:
                (UserListing[] users, bool moreUsers) = Page(UserListings, Read<ListUsersRequest>(payload).After);
                Answer(connection, header, new ListUsersResponse(users, moreUsers));
                return;
            case Opcode.CreateToken:
                CreateTokenRequest create = Read<CreateTokenRequest>(payload);
                string id = $"id{TokenListings.Count:D6}";
                TokenListings[id] = new TokenListing(id, create.User, 1, create.ExpiresMs, create.Note);
                string token = $"eqt_{id}_{new string('s', 43)}";
                TokenUsers[token] = create.User;
                Answer(connection, header, new CreateTokenResponse(id, token));
                return;
            case Opcode.RevokeToken:
                TokenListings.TryRemove(Read<RevokeTokenRequest>(payload).Id, out _);
                break;
            case Opcode.ListTokens:
                (TokenListing[] tokens, bool moreTokens) = Page(TokenListings, Read<ListTokensRequest>(payload).After);
                Answer(connection, header, new ListTokensResponse(tokens, moreTokens));
                return;
            case Opcode.SetRule:
                SetRuleRequest rule = Read<SetRuleRequest>(payload);
                if (rule.IsRemoved)
                    Rules.TryRemove(rule.Rule.ToString(), out _);
                else
                    Rules[rule.Rule.ToString()] = rule.Rule;
                break;
            case Opcode.ListRules:
                (AccessRule[] rules, bool moreRules) = Page(Rules, Read<ListRulesRequest>(payload).After);
                Answer(connection, header, new ListRulesResponse(rules, moreRules));
                return;
            case Opcode.TestRule:
                TestRuleRequest test = Read<TestRuleRequest>(payload);
                Answer(connection, header, new TestRuleResponse(
                    test.Principal, test.Permission == Permission.Read, $"{test.Resource}:{test.Name}"));
                return;
        }

        Answer(connection, header, Done.Value);
    }

    private static (T[] Items, bool HasMore) Page<T>(ConcurrentDictionary<string, T> all, string? after)
    {
        T[] items = all
            .Where(one => after is null || string.CompareOrdinal(one.Key, after) > 0)
            .OrderBy(static one => one.Key, StringComparer.Ordinal)
            .Select(static one => one.Value)
            .ToArray();
        return (items[..Math.Min(items.Length, PageSize)], items.Length > PageSize);
    }

    private static T Read<T>(ReadOnlySpan<byte> payload)
        where T : IPayload<T>
    {
        Assert.True(Payload.TryRead(payload, out T value));
        return value;
    }
}
