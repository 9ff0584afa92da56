using EQueue.Server.Services;
using EQueue.Support;

namespace EQueue.Server.Tests.Services;

public sealed class NotifySocketTests : IDisposable
{
    private readonly CollectedLog _log = new();

    public void Dispose() => _log.Dispose();

    [Fact]
    public async Task GivenAPathAndAnAbstractName_WhenSomethingIsSaid_ThenItIsHeardAsOneDatagram()
    {
        using var directory = new TempDirectory();
        foreach (string address in (string[])[directory["notify"], $"@equeue-{Guid.NewGuid():N}"])
        {
            using var listener = new NotifyListener(address);
            using NotifySocket socket = Find(("NOTIFY_SOCKET", address))!;
            Assert.Null(socket.Watchdog);
            socket.Send("READY=1\nSTATUS=x");
            Assert.Equal("READY=1\nSTATUS=x", await listener.ReceiveAsync());
        }

        Assert.Empty(_log.Texts);
    }

    [Theory]
    [InlineData("4000000", null, 4.0)]
    [InlineData("500000", "17", 0.5)]
    [InlineData("500000", "18", null)]
    [InlineData("0", null, null)]
    [InlineData("soon", null, null)]
    public void GivenAWatchdog_WhenTheEnvironmentIsRead_ThenItCountsForItsOwnProcess(
        string usec, string? processId, double? seconds)
    {
        using NotifySocket socket = Find(
            ("NOTIFY_SOCKET", "@equeue-nobody"), ("WATCHDOG_USEC", usec), ("WATCHDOG_PID", processId))!;
        Assert.Equal(seconds, socket.Watchdog?.TotalSeconds);
    }

    [Theory]
    [InlineData(null, 0)]
    [InlineData("", 0)]
    [InlineData("relative/path", 1)]
    [InlineData("vsock:2:1234", 1)]
    public void GivenNoUsableAddress_WhenTheEnvironmentIsRead_ThenThereIsNoSocket(string? address, int warnings)
    {
        Assert.Null(Find(("NOTIFY_SOCKET", address)));
        Assert.Equal(warnings, _log.Texts.Count);
    }

    [Fact]
    public void GivenAnAddressLongerThanASocketsMayBe_WhenTheEnvironmentIsRead_ThenThereIsNoSocketAndAWarning()
    {
        Assert.Null(Find(("NOTIFY_SOCKET", "/" + new string('a', 200))));
        Assert.Single(_log.Texts);
    }

    [Fact]
    public void GivenNobodyWhoListens_WhenSomethingIsSaidAgainAndAgain_ThenOneWarningTellsIt()
    {
        using var directory = new TempDirectory();
        using NotifySocket socket = Find(("NOTIFY_SOCKET", directory["nobody"]))!;
        socket.Send("READY=1");
        socket.Send("WATCHDOG=1");
        Assert.Contains(directory["nobody"], Assert.Single(_log.Texts), StringComparison.Ordinal);
        socket.Dispose();
        socket.Send("STOPPING=1");
    }

    private NotifySocket? Find(params (string Name, string? Value)[] variables) => NotifySocket.Find(
        name => variables.FirstOrDefault(one => one.Name == name).Value, processId: 17, _log);
}
