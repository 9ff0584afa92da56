using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker.Tests;

/// <summary>A backup with older users, tokens and rules, and what holds after it is restored.</summary>
public sealed class RestoreTests : IAsyncLifetime
{
    private static readonly AccessRule MayRead = new(
        RuleEffect.Allow, "user:alice", Permission.Read, ResourceKind.Topic, "orders");

    private TestBroker _broker = null!;
    private TestPeer _owner = null!;
    private QueueId _queue;

    private string Backup => _broker.Options.DataDirectory + "-backup";

    private string Restored => _broker.Options.DataDirectory + "-restored";

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _owner = await _broker.ConnectAsync();
        _queue = (await _owner.CreateTopicAsync("orders")).Queues[0].Id;
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
        if (Directory.Exists(Backup))
            Directory.Delete(Backup, recursive: true);
    }

    [Fact]
    public async Task GivenABackupWithOlderRules_WhenRestored_ThenUsersTokensAndRulesOfItsTimeJudgeEverySession()
    {
        await SetPasswordAsync("alice", "first");
        CreateTokenResponse old = await _owner.InvokeAsync(new CreateTokenRequest("alice", 0, "old"));
        await _owner.InvokeAsync(new SetRuleRequest(MayRead, false));
        string[] before = await ListAsync(_owner);
        string salt = await SaltAsync(_broker, "nobody");
        StoreBackup.Write(
            new BackupOptions { DataDirectory = _broker.Options.DataDirectory, BackupDirectory = Backup },
            TestContext.Current.CancellationToken);

        // All of it changes after the backup.
        await SetPasswordAsync("alice", "second");
        await _owner.InvokeAsync(new RevokeTokenRequest(old.Id));
        CreateTokenResponse late = await _owner.InvokeAsync(new CreateTokenRequest("alice", 0, "late"));
        await SetPasswordAsync("bob", "bob's");
        await _owner.InvokeAsync(new SetRuleRequest(MayRead with { Effect = RuleEffect.Deny }, false));
        await _owner.InvokeAsync(new SetRuleRequest(MayRead, true));
        Assert.Equal(ErrorCode.AuthenticationFailed, await TryTokenAsync(_broker, old.Token));
        Assert.Equal(ErrorCode.NotAuthorized, await ReadAsync(_broker, late.Token));

        StoreBackup.Restore(Backup, Restored, null, TestContext.Current.CancellationToken);
        await using TestBroker restored = await TestBroker.StartAsync(
            _broker.Options with { DataDirectory = Restored });
        await using TestPeer owner = await restored.ConnectAsync();
        Assert.Equal(before, await ListAsync(owner));
        Assert.Equal(salt, await SaltAsync(restored, "nobody"));

        // What was taken back since holds again, what was given since does not.
        Assert.Equal(ErrorCode.None, await LogInAsync(restored, "alice", "first"));
        Assert.Equal(ErrorCode.AuthenticationFailed, await LogInAsync(restored, "alice", "second"));
        Assert.Equal(ErrorCode.AuthenticationFailed, await LogInAsync(restored, "bob", "bob's"));
        Assert.Equal(ErrorCode.AuthenticationFailed, await TryTokenAsync(restored, late.Token));
        Assert.Equal(ErrorCode.None, await ReadAsync(restored, old.Token));
    }

    private async Task SetPasswordAsync(string user, string password) => await _owner.InvokeAsync(
        new SetUserRequest(user, ScramSecret.Create(password, ScramSecret.MinIterations), null, null, false));

    private static async Task<string[]> ListAsync(TestPeer owner) =>
    [
        .. (await owner.InvokeAsync(new ListUsersRequest(null, 100))).Users.Select(user => $"{user}"),
        .. (await owner.InvokeAsync(new ListTokensRequest(null, 100))).Tokens.Select(token => $"{token}"),
        .. (await owner.InvokeAsync(new ListRulesRequest(null, 100))).Rules.Select(rule => $"{rule}"),
    ];

    private static async Task<ErrorCode> LogInAsync(TestBroker broker, string user, string password)
    {
        using LoginPeer peer = await LoginPeer.ConnectAsync(broker.EndPoint);
        return (await peer.LogInAsync(user, password)).Error;
    }

    private static async Task<ErrorCode> TryTokenAsync(TestBroker broker, string token)
    {
        using LoginPeer peer = await LoginPeer.ConnectAsync(broker.EndPoint);
        return (await peer.SayAsync(Mechanisms.Token, Encoding.UTF8.GetBytes(token))).Error;
    }

    private async Task<ErrorCode> ReadAsync(TestBroker broker, string token)
    {
        await using TestPeer peer = await TestPeer.LogInAsync(broker.EndPoint, token);
        return (await peer.FetchAsync(Messages.Open(0, Messages.From(_queue, 0)))).Queues
            .Select(one => one.Header.Error).FirstOrDefault();
    }

    private static async Task<string> SaltAsync(TestBroker broker, string user)
    {
        using LoginPeer peer = await LoginPeer.ConnectAsync(broker.EndPoint);
        LoginAnswer answer = await peer.SayAsync(
            Mechanisms.ScramSha256, new ScramClient(user, "any").FirstMessage());
        return Encoding.UTF8.GetString(answer.Hello!.Challenge.Span).Split(',')[1];
    }
}
