using System.Net;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class OptionsTests
{
    private static readonly RemotingServerOptions Server = new();
    private static readonly RemotingClientOptions Client = new();

    public static TheoryData<RemotingServerOptions, string> BadServers { get; } = new()
    {
        { Server with { Listen = [] }, "Listen" },
        { Server with { Listen = ["nonsense"] }, "Listen" },
        { Server with { MaxConnections = 0 }, "MaxConnections" },
        { Server with { MaxFrameBytes = 63 }, "MaxFrameBytes" },
        { Server with { IdleTimeout = TimeSpan.Zero }, "IdleTimeout" },
        { Server with { SendTimeout = TimeSpan.FromDays(30) }, "SendTimeout" },
        { Server with { MaxQueuedSendBytes = 0 }, "MaxQueuedSendBytes" },
        { Server with { ReceiveBufferBytes = 100 }, "ReceiveBufferBytes" },
        { Server with { ReceiveMemoryBytes = 1000 }, "ReceiveMemoryBytes" },
        { Server with { SendMemoryBytes = 1000 }, "SendMemoryBytes" },
        { Server with { SocketBufferBytes = -1 }, "SocketBufferBytes" },
        { Server with { Backlog = 0 }, "Backlog" },
    };

    public static TheoryData<RemotingClientOptions, string> BadClients { get; } = new()
    {
        { Client with { ConnectTimeout = TimeSpan.Zero }, "ConnectTimeout" },
        { Client with { RequestTimeout = TimeSpan.Zero }, "RequestTimeout" },
        { Client with { KeepAliveInterval = TimeSpan.Zero }, "KeepAliveInterval" },
        { Client with { KeepAliveTimeout = TimeSpan.Zero }, "KeepAliveTimeout" },
        { Client with { ReconnectDelay = TimeSpan.Zero }, "ReconnectDelay" },
        { Client with { MaxReconnectDelay = TimeSpan.FromMilliseconds(10) }, "MaxReconnectDelay" },
        { Client with { MaxInFlight = 1000 }, "MaxInFlight" },
        { Client with { MaxInFlight = 1 << 20 }, "MaxInFlight" },
        { Client with { MaxFrameBytes = int.MaxValue }, "MaxFrameBytes" },
        { Client with { MaxQueuedSendBytes = 0 }, "MaxQueuedSendBytes" },
        { Client with { ReceiveBufferBytes = 100 }, "ReceiveBufferBytes" },
        { Client with { SocketBufferBytes = -1 }, "SocketBufferBytes" },
    };

    [Theory]
    [MemberData(nameof(BadServers))]
    public void GivenServerSettingOutOfRange_WhenMade_ThenTheMessageNamesIt(RemotingServerOptions options, string setting)
    {
        ArgumentException exception = Assert.Throws<ArgumentException>(
            () => new RemotingServer(options, new ScriptedHandler(), new CollectedLog()));
        Assert.StartsWith(setting, exception.Message);
    }

    [Theory]
    [MemberData(nameof(BadClients))]
    public void GivenClientSettingOutOfRange_WhenMade_ThenTheMessageNamesIt(RemotingClientOptions options, string setting)
    {
        ArgumentException exception = Assert.Throws<ArgumentException>(
            () => new RemotingClient(new IPEndPoint(IPAddress.Loopback, 1), options, new CollectedLog()));
        Assert.StartsWith(setting, exception.Message);
    }

    [Theory]
    [InlineData("127.0.0.1:9490", "127.0.0.1:9490")]
    [InlineData("[::1]:1", "[::1]:1")]
    [InlineData("0.0.0.0:0", "0.0.0.0:0")]
    [InlineData("broker-1.example:65535", "Unspecified/broker-1.example:65535")]
    public void GivenAddress_WhenParsed_ThenItsPartsAreThere(string text, string expected) =>
        Assert.Equal(expected, HostPort.Parse(text).ToString());

    [Theory]
    [InlineData("")]
    [InlineData("localhost")]
    [InlineData(":9490")]
    [InlineData("localhost:65536")]
    [InlineData("localhost:-1")]
    [InlineData("::1:9490")]
    [InlineData("a b:1")]
    [InlineData("[::1:1")]
    public void GivenTextThatIsNoAddress_WhenParsed_ThenItIsRefused(string text) =>
        Assert.Throws<FormatException>(() => HostPort.Parse(text));
}
