using System.Net.Sockets;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

/// <summary>Unix sockets: the same calls over a path, and whose file is replaced.</summary>
public sealed class UnixSocketTests : IDisposable
{
    private readonly TempDirectory _directory = new();

    private string SocketPath => _directory["equeue.sock"];

    private RemotingServerOptions Options => new() { Listen = [$"unix:{SocketPath}"] };

    [Fact]
    public async Task GivenUnixSocket_WhenFramesOfAllSizesAreEchoed_ThenTheyComeBackAsTheyWere()
    {
        await using Started server = await StartAsync(Options);
        await using RemotingClient client = NewClient();
        foreach (int bytes in (int[])[0, 1, 4096, 300_000, (16 << 20) - FrameHeader.Size])
        {
            byte[] content = Calls.Content(bytes, bytes);
            byte[] answer = await client.EchoAsync(content);
            Assert.True(content.AsSpan().SequenceEqual(answer), $"{bytes} bytes");
        }

        Task<byte[]>[] many = [.. Enumerable.Range(0, 2_000).Select(i => client.EchoAsync(Calls.Content(i, i % 700)))];
        byte[][] answers = await Task.WhenAll(many);
        for (int i = 0; i < answers.Length; i++)
            Assert.Equal(Calls.Content(i, i % 700), answers[i]);
        Assert.Equal($"unix:{SocketPath}", HostPort.Format(server.Server.LocalEndPoint));
        Assert.Equal(SocketPath, server.Handler.Connected.Single().RemoteEndPoint.ToString());
        Assert.DoesNotContain(server.Log.Lines, line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task GivenServer_WhenItStops_ThenItsFileIsGoneAndAnotherServerMayComeAndTheClientReconnects()
    {
        await using RemotingClient client = NewClient();
        for (byte i = 0; i < 3; i++)
        {
            await using Started server = await StartAsync(Options);
            Assert.True(File.Exists(SocketPath));
            byte[] content = [i];
            await Eventually.TrueAsync(async () =>
            {
                try
                {
                    return (await client.EchoAsync(content))[0] == content[0];
                }
                catch (RemotingException exception) when (exception.Error == RemotingError.ConnectionLost)
                {
                    return false;
                }
            });
            await server.DisposeAsync();
            Assert.False(File.Exists(SocketPath));
        }
    }

    [Fact]
    public async Task GivenLiveServer_WhenAnotherListensOnItsPath_ThenThatOneIsRefusedAndTheFirstGoesOn()
    {
        await using Started server = await StartAsync(Options);
        SocketException refused = await Assert.ThrowsAsync<SocketException>(() => StartAsync(Options));
        Assert.Equal(SocketError.AddressAlreadyInUse, refused.SocketErrorCode);
        await using RemotingClient client = NewClient();
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenSocketOfADeadServer_WhenAServerListens_ThenItIsReplaced()
    {
        // What a killed server leaves: a socket that nobody listens on, and a lock that nobody holds.
        Started dead = await StartAsync(Options);
        await dead.DisposeAsync();
        PlantDeadSocket();
        Assert.True(File.Exists(SocketPath));
        await using Started server = await StartAsync(Options);
        await using RemotingClient client = NewClient();
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenFileThatNoServerMade_WhenAServerListens_ThenItIsRefusedAndTheFileStays(bool isSocket)
    {
        if (isSocket)
            PlantDeadSocket();
        else
            await File.WriteAllTextAsync(SocketPath, "precious");
        SocketException refused = await Assert.ThrowsAsync<SocketException>(() => StartAsync(Options));
        Assert.Equal(SocketError.AddressAlreadyInUse, refused.SocketErrorCode);
        Assert.True(File.Exists(SocketPath));
        Assert.False(File.Exists(SocketPath + ".lock"));
    }

    [Fact]
    public async Task GivenDirectoryThatIsNotThere_WhenAServerListens_ThenItIsRefusedWithThePath()
    {
        RemotingServerOptions options = new() { Listen = [$"unix:{_directory["none/equeue.sock"]}"] };
        SocketException refused = await Assert.ThrowsAsync<SocketException>(() => StartAsync(options));
        Assert.Contains("none/equeue.sock", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenSecondAddressThatCannotBe_WhenAServerStarts_ThenTheFirstsFileIsNotLeft()
    {
        RemotingServerOptions options = Options with { Listen = [$"unix:{SocketPath}", $"unix:{SocketPath}"] };
        await Assert.ThrowsAsync<SocketException>(() => StartAsync(options));
        Assert.False(File.Exists(SocketPath));
        await using Started server = await StartAsync(Options);
    }

    [Fact]
    public async Task GivenTcpWithTlsAndAUnixSocket_WhenBothAreUsed_ThenTlsGuardsTcpAlone()
    {
        using var plant = new TlsPlant();
        await using Started server = await StartAsync(
            plant.Server with { Listen = [$"unix:{SocketPath}", "127.0.0.1:0"] });
        await using RemotingClient near = NewClient();
        await using RemotingClient alike = NewClient(plant.Client);
        await using var far = new RemotingClient(server.Server.LocalEndPoint, plant.Client, new CollectedLog());
        Assert.Equal([1], await near.EchoAsync([1]));
        Assert.Equal([2], await alike.EchoAsync([2]));
        Assert.Equal([3], await far.EchoAsync([3]));
        Assert.StartsWith("127.0.0.1:", HostPort.Format(server.Server.LocalEndPoint), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenNobodyAtThePath_WhenCalled_ThenTheCallFailsInItsTime()
    {
        await using RemotingClient client = NewClient();
        RemotingError error = await client.InvokeAsync(
            Calls.Buffer([]), 1, 1, TimeSpan.FromMilliseconds(300), CancellationToken.None).ErrorOfAsync();
        Assert.Equal(RemotingError.Unreachable, error);
    }

    [Theory]
    [InlineData("unix:")]
    [InlineData("unix:relative.sock")]
    [InlineData("unix:/directory/")]
    [InlineData("unix:/a234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567")]
    public void GivenPathThatCannotBe_WhenRead_ThenItIsRefused(string text)
    {
        string address = text.Length > 90 ? text + "89012345678" : text;
        Assert.False(HostPort.TryParse(address, out _));
        Assert.Throws<FormatException>(() => HostPort.Parse(address));
    }

    public void Dispose() => _directory.Dispose();

    private void PlantDeadSocket()
    {
        string made = _directory["made"];
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(made));
        socket.Listen();

        // Closing removes the name that was bound, not one that it was given since.
        File.Move(made, SocketPath);
    }

    private RemotingClient NewClient(RemotingClientOptions? options = null) =>
        new(HostPort.Parse($"unix:{SocketPath}"), options ?? new RemotingClientOptions(), new CollectedLog());

    private static async Task<Started> StartAsync(RemotingServerOptions options)
    {
        var started = new Started(options);
        await started.Server.StartAsync(CancellationToken.None);
        return started;
    }

    private sealed class Started : IAsyncDisposable
    {
        public Started(RemotingServerOptions options) => Server = new RemotingServer(options, Handler, Log);

        public ScriptedHandler Handler { get; } = new();

        public CollectedLog Log { get; } = new();

        public RemotingServer Server { get; }

        public ValueTask DisposeAsync() => Server.DisposeAsync();
    }
}
