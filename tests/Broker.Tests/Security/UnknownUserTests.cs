using System.Diagnostics;
using System.Globalization;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Broker.Tests;

/// <summary>What a stranger who asks for salts learns of which users there are: nothing.</summary>
public sealed class UnknownUserTests : IAsyncLifetime
{
    private readonly ManualTime _time = new();
    private TestBroker _broker = null!;
    private TestPeer _owner = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(TestBroker.SmallOptions() with
        {
            Security = new SecurityOptions { MaxLoginsAtOnce = 1_000 },
        }, _time);
        _owner = await _broker.ConnectAsync();
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenKnownAndUnknownUsers_WhenTheBrokerStartsAgain_ThenAllSaltsAreAsBefore()
    {
        string early = await SaltAsync("mallory");
        await SetAsync("alice", ScramSecret.DefaultIterations);
        await _owner.InvokeAsync(new SetUserRequest("carol", null, null, null, true));
        string[] names = ["alice", "mallory", "mallet", "carol"];
        string[] before = await SaltsAsync(names);
        Assert.Equal(early, before[1]);
        Assert.Equal(names.Length, before.Distinct().Count());

        // From the log first, from a snapshot afterwards.
        for (int i = 0; i < 2; i++)
        {
            await RestartAsync();
            Assert.Equal(before, await SaltsAsync(names));
        }
    }

    [Fact]
    public async Task GivenUsersOfABuildThatKeptNoKey_WhenTheBrokerHasStartedOnce_ThenSaltsStay()
    {
        await SetAsync("alice", ScramSecret.DefaultIterations);
        string first = await SaltAsync("mallory");
        _broker.OwnsDirectory = false;
        await DisposeAsync();
        await using (QueueStore store = await QueueStore.OpenAsync(
            _broker.Options.EffectiveStore, new BrokerState(), NullLoggerFactory.Instance, TimeProvider.System,
            CancellationToken.None))
        {
            await store.AppendStateAsync(
                [StateEntry.Removal(MockKeyRecord.Kind, ReadOnlyMemory<byte>.Empty)], CancellationToken.None);
        }

        _broker = await TestBroker.StartAsync(_broker.Options);
        _owner = await _broker.ConnectAsync();
        string second = await SaltAsync("mallory");
        Assert.NotEqual(first, second);
        await RestartAsync();
        Assert.Equal(second, await SaltAsync("mallory"));
    }

    [Fact]
    public async Task GivenUsersOfSeveralIterations_WhenUnknownNamesAreAsked_ThenTheyHaveTheSameOnesAndNoOthers()
    {
        await SetAsync("alice", 5_000);
        Assert.Equal([5_000], await IterationsAsync(20));
        await SetAsync("bob", 6_000);
        await SetAsync("carol", 6_000);
        Assert.Equal([5_000, 6_000], await IterationsAsync(60));
        string[] names = [.. Enumerable.Range(0, 10).Select(NameOf)];
        string[] mixed = await SaltsAsync(names);
        await _owner.InvokeAsync(new DeleteUserRequest("alice"));
        Assert.Equal([6_000], await IterationsAsync(20));

        // Who sees other iterations sees another salt too, as after a new password.
        string[] single = await SaltsAsync(names);
        Assert.All(
            mixed.Zip(single), pair => Assert.Equal(
                pair.First.EndsWith("i=6000", StringComparison.Ordinal), pair.First == pair.Second));
    }

    /// <summary>By turns and by the middle of many, so that what else the machine does counts for both; what is found
    /// is work of another order, such as a password that is worked out for real users alone.</summary>
    [Fact]
    public async Task GivenAKnownAndAnUnknownUser_WhenTheyFailByTurns_ThenOneTakesAsLongAsTheOther()
    {
        const int Tries = 60;
        await SetAsync("alice", ScramSecret.MaxIterations / 4);
        Dictionary<string, List<TimeSpan>> times = new() { ["alice"] = [], ["mallory"] = [] };
        for (int i = 0; i < Tries; i++)
        {
            foreach ((string user, List<TimeSpan> taken) in times)
            {
                using LoginPeer peer = await LoginPeer.ConnectAsync(_broker.EndPoint);
                byte[] first = new ScramClient(user, "wrong").FirstMessage();
                long began = Stopwatch.GetTimestamp();
                LoginAnswer asked = await peer.SayAsync(Mechanisms.ScramSha256, first);
                string nonce = Encoding.UTF8.GetString(asked.Hello!.Challenge.Span).Split(',')[0];
                string proof = Convert.ToBase64String(new byte[ScramSecret.KeySize]);
                LoginAnswer failed = await peer.SayAsync(
                    Mechanisms.ScramSha256, Encoding.UTF8.GetBytes($"c=biws,{nonce},p={proof}"));
                taken.Add(Stopwatch.GetElapsedTime(began));
                Assert.Equal(ErrorCode.AuthenticationFailed, failed.Error);
                _time.Jump(TimeSpan.FromMinutes(2));
            }
        }

        TimeSpan[] middles = [.. times.Values.Select(static taken => taken.Order().ElementAt(Tries / 2)).Order()];
        Assert.True(middles[1] < 5 * middles[0], $"{middles[0]} and {middles[1]}");
    }

    [Fact]
    public async Task GivenAUser_WhenDisabled_ThenTheSaltStaysAndTheRightPasswordIsRefused()
    {
        await SetAsync("alice", ScramSecret.MinIterations);
        string before = await SaltAsync("alice");
        await _owner.InvokeAsync(new SetUserRequest("alice", null, IsDisabled: true, null, false));
        Assert.Equal(before, await SaltAsync("alice"));
        using LoginPeer peer = await LoginPeer.ConnectAsync(_broker.EndPoint);
        Assert.Equal(ErrorCode.AuthenticationFailed, (await peer.LogInAsync("alice", "alice's")).Error);
    }

    private static string NameOf(int number) => string.Create(CultureInfo.InvariantCulture, $"unknown-{number}");

    private async Task RestartAsync()
    {
        await _owner.DisposeAsync();
        _broker = await _broker.RestartAsync();
        _owner = await _broker.ConnectAsync();
    }

    private async Task SetAsync(string user, int iterations) => await _owner.InvokeAsync(
        new SetUserRequest(user, ScramSecret.Create($"{user}'s", iterations), null, null, false));

    private async Task<IEnumerable<int>> IterationsAsync(int names) =>
        (await SaltsAsync([.. Enumerable.Range(0, names).Select(NameOf)]))
            .Select(one => int.Parse(one.Split("i=")[^1], CultureInfo.InvariantCulture)).Distinct().Order();

    private async Task<string[]> SaltsAsync(string[] users)
    {
        var salts = new List<string>();
        foreach (string user in users)
            salts.Add(await SaltAsync(user));
        return [.. salts];
    }

    /// <summary>The salt and the iterations that the broker names.</summary>
    private async Task<string> SaltAsync(string user)
    {
        using LoginPeer peer = await LoginPeer.ConnectAsync(_broker.EndPoint);
        LoginAnswer answer = await peer.SayAsync(
            Mechanisms.ScramSha256, new ScramClient(user, "any").FirstMessage());
        return string.Join(',', Encoding.UTF8.GetString(answer.Hello!.Challenge.Span).Split(',')[1..]);
    }
}
