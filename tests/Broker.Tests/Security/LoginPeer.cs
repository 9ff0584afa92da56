using System.Net;
using EQueue.Protocol;

namespace EQueue.Broker.Tests;

/// <summary>A connection that logs in step by step.</summary>
internal sealed class LoginPeer(RawConnection connection) : IDisposable
{
    public static async Task<LoginPeer> ConnectAsync(EndPoint endPoint) =>
        new(await RawConnection.ConnectAsync(endPoint));

    /// <summary>A Hello with a mechanism's message.</summary>
    /// <returns>The answer, or why it was refused.</returns>
    public async Task<LoginAnswer> SayAsync(string mechanism, byte[] credentials, byte version = 1)
    {
        HelloRequest hello = TestPeer.NewHello("login") with { Mechanism = mechanism, Credentials = credentials };
        await connection.SendAsync(RawConnection.Frame(
            Opcode.Hello, TestPeer.Encode(hello).WrittenSpan, version: version));
        if (await connection.ReceiveFrameAsync() is not { } frame)
            return new LoginAnswer(null, ErrorCode.ConnectionLost, "");
        if (frame.Header.Error != 0)
        {
            Payload.TryRead(frame.Payload, out ErrorDetail detail);
            return new LoginAnswer(null, (ErrorCode)frame.Header.Error, detail.Message ?? "");
        }

        Assert.True(Payload.TryRead(frame.Payload, out AuthenticatedHello answer));
        return new LoginAnswer(answer, ErrorCode.None, "");
    }

    /// <summary>Logs in with a password, as a client does.</summary>
    public async Task<LoginAnswer> LogInAsync(string user, string password)
    {
        var client = new ScramClient(user, password);
        LoginAnswer first = await SayAsync(Mechanisms.ScramSha256, client.FirstMessage());
        if (first.Hello is not { } challenge)
            return first;
        Assert.False(challenge.IsDone);
        Assert.Equal("", challenge.Principal);
        Assert.Equal(ScramError.None, client.Answer(challenge.Challenge.Span, out byte[] final));
        LoginAnswer second = await SayAsync(Mechanisms.ScramSha256, final);
        if (second.Hello is { } done)
            Assert.Equal(ScramError.None, client.Verify(done.Challenge.Span));
        return second;
    }

    public Task<bool> IsClosedAsync() => connection.IsEndedByBrokerAsync();

    public void Dispose() => connection.Dispose();
}

/// <summary>What a Hello was answered.</summary>
internal sealed record LoginAnswer(AuthenticatedHello? Hello, ErrorCode Error, string Message);
