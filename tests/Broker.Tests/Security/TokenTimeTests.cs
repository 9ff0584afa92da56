using System.Text;
using EQueue.Protocol;

namespace EQueue.Broker.Tests;

/// <summary>Clocks that step under tokens that end.</summary>
public sealed class TokenTimeTests : IAsyncLifetime
{
    private readonly ManualTime _time = new();
    private TestBroker _broker = null!;
    private TestPeer _owner = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(time: _time);
        _owner = await _broker.ConnectAsync();
        await _owner.InvokeAsync(new SetUserRequest("alice", null, null, null, true));
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAClockThatIsSetAhead_WhenATokenEndsBeforeThat_ThenItsSessionIsCutAndItStaysEnded()
    {
        string brief = await TokenAsync(TimeSpan.FromHours(1));
        string lasting = await TokenAsync(TimeSpan.FromDays(30));
        using LoginPeer peer = await ConnectAsync();
        Assert.Equal(ErrorCode.None, await SayAsync(peer, brief));

        _time.SetWallClock(TimeSpan.FromHours(2));

        Assert.True(await peer.IsClosedAsync());
        foreach (TimeSpan step in (TimeSpan[])[TimeSpan.Zero, TimeSpan.FromHours(-2), TimeSpan.FromDays(-400)])
        {
            _time.SetWallClock(step);
            Assert.Equal(ErrorCode.AuthenticationFailed, await TryAsync(brief));
            Assert.Equal(ErrorCode.None, await TryAsync(lasting));
        }
    }

    [Fact]
    public async Task GivenAClockThatIsSetBack_WhenATokenIsMade_ThenItIsRefusedRatherThanDeadFromTheStart()
    {
        // The broker has seen that time.
        Assert.Equal(ErrorCode.None, await TryAsync(await TokenAsync(TimeSpan.FromHours(1))));
        _time.SetWallClock(TimeSpan.FromHours(-3));
        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(() => TokenAsync(TimeSpan.FromHours(1)));
        Assert.Equal(ErrorCode.InvalidArgument, refused.Code);
        Assert.Contains("ends in the future", refused.Message, StringComparison.Ordinal);
        Assert.Equal(ErrorCode.None, await TryAsync(await TokenAsync(TimeSpan.FromHours(4))));
    }

    private Task<LoginPeer> ConnectAsync() => LoginPeer.ConnectAsync(_broker.EndPoint);

    /// <summary>A token that ends so long after what the clock says.</summary>
    private async Task<string> TokenAsync(TimeSpan lifetime) => (await _owner.InvokeAsync(new CreateTokenRequest(
        "alice", (_time.GetUtcNow() + lifetime).ToUnixTimeMilliseconds(), ""))).Token;

    private async Task<ErrorCode> TryAsync(string token)
    {
        using LoginPeer peer = await ConnectAsync();
        return await SayAsync(peer, token);
    }

    private static async Task<ErrorCode> SayAsync(LoginPeer peer, string token) =>
        (await peer.SayAsync(Mechanisms.Token, Encoding.UTF8.GetBytes(token))).Error;
}
