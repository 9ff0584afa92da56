using System.Globalization;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>What users, tokens and rules take in memory, and its bound.</summary>
public sealed class SecurityMemoryTests
{
    private const long MaxBytes = 64 << 10;

    [Fact]
    [EffectOf("Limits:SecurityBytes")]
    public async Task GivenTheMemoryOfUsersTokensAndRules_WhenItIsTaken_ThenNoMoreComesUntilSomethingGoes()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { SecurityBytes = MaxBytes } });
        await using TestPeer owner = await broker.ConnectAsync();
        await owner.InvokeAsync(UserOf(0, []));
        for (int i = 1; await TryAsync(owner, new CreateTokenRequest(NameOf('u', 0), 0, NameOf('n', i))); i++)
            Assert.InRange(i, 1, 30);
        for (int i = 1; await TryAsync(owner, new SetRuleRequest(RuleOf(i), IsRemoved: false)); i++)
            Assert.InRange(i, 1, 30);
        Assert.InRange(await UsedAsync(owner), MaxBytes - 3_000, MaxBytes);
        double before = await UsedAsync(owner);

        // Neither a new user nor more of one that there is; less of one at any time.
        string[] groups = [.. Enumerable.Range(0, 16).Select(i => NameOf('g', i))];
        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(async () =>
            await owner.InvokeAsync(UserOf(0, groups)));
        Assert.Equal(ErrorCode.LimitReached, refused.Code);
        Assert.Contains("Limits:SecurityBytes", refused.Message, StringComparison.Ordinal);
        Assert.True(refused.IsRetriable);
        Assert.False(await TryAsync(owner, UserOf(1, groups)));
        Assert.True(await TryAsync(owner, new SetUserRequest(NameOf('u', 0), null, true, [], false)));
        Assert.Equal(before, await UsedAsync(owner));
        Assert.True(await owner.FigureAsync("memory.refusals{security}") >= 4);

        await owner.InvokeAsync(new DeleteUserRequest(NameOf('u', 0)));
        Assert.InRange(await UsedAsync(owner), 0, before / 2);
        Assert.True(await TryAsync(owner, UserOf(1, groups)));
    }

    [Fact]
    public async Task GivenMoreThanTheMemoryAllows_WhenTheBrokerStartsWithLess_ThenAllOfItHoldsAndOnlyMoreIsRefused()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker large = await TestBroker.StartAsync(options);
        double used;
        await using (TestPeer owner = await large.ConnectAsync())
        {
            for (int i = 0; i < 200; i++)
                await owner.InvokeAsync(UserOf(i, []));
            used = await UsedAsync(owner);
        }

        large.OwnsDirectory = false;
        await large.DisposeAsync();
        await using TestBroker small = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { SecurityBytes = MaxBytes } });
        small.OwnsDirectory = true;
        await using TestPeer later = await small.ConnectAsync();
        Assert.Equal(used, await UsedAsync(later));
        Assert.Equal(200, (await later.InvokeAsync(new ListUsersRequest(null, 1_000))).Users.Count);
        Assert.False(await TryAsync(later, UserOf(200, [])));
        await later.InvokeAsync(new DeleteUserRequest(NameOf('u', 7)));
        Assert.False(await TryAsync(later, UserOf(200, [])));
    }

    [Fact]
    public void GivenWhatComesChangesAndGoes_WhenTheBookIsAsked_ThenItCountsWhatANewOneWouldCount()
    {
        const int Seed = 20261128;
        var random = new Random(Seed);
        SecurityBook book = SecurityBook.Empty;
        for (int i = 0; i < 3_000; i++)
        {
            int number = random.Next(20);
            string user = NameOf('u', number);
            string token = $"token-{random.Next(40)}";
            string[] groups = [.. Enumerable.Range(0, random.Next(4)).Select(one => NameOf('g', one))];
            book = random.Next(6) switch
            {
                0 => book.With(new UserRecord(user, false, null, groups)),
                1 => book.WithoutUser(user),
                2 => book.With(new TokenRecord(token, new byte[32], user, 1, 0, new string('n', random.Next(100)))),
                3 => book.WithoutToken(token),
                4 => book.With(RuleOf(number)),
                _ => book.Without(RuleOf(number)),
            };
            long expected = book.Users.Values.Sum(SecurityUse.SizeOf) + book.Tokens.Values.Sum(SecurityUse.SizeOf)
                + book.Rules.Values.Sum(SecurityUse.SizeOf);
            Assert.True(book.Bytes == expected, $"Seed {Seed}, step {i}: {book.Bytes} counted, {expected} are there.");
        }
    }

    private static async Task<double> UsedAsync(TestPeer owner) =>
        await owner.FigureAsync("memory.usedBytes{security}");

    /// <returns>False when there was no room for it.</returns>
    private static async Task<bool> TryAsync<TRequest, TResponse>(TestPeer owner, IRequest<TRequest, TResponse> request)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        try
        {
            await owner.InvokeAsync(request);
            return true;
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.LimitReached)
        {
            return false;
        }
    }

    private static SetUserRequest UserOf(int number, string[] groups) =>
        new(NameOf('u', number), null, null, groups, MustBeNew: false);

    private static AccessRule RuleOf(int number) => new(
        RuleEffect.Allow, "user:" + NameOf('u', 0), Permission.Read, ResourceKind.Topic, NameOf('t', number));

    private static string NameOf(char kind, int number) =>
        number.ToString("D10", CultureInfo.InvariantCulture).PadLeft(NameRules.MaxLength - 1, '0').Insert(0, $"{kind}");
}
