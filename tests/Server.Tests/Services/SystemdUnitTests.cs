using System.Diagnostics;
using EQueue.Server.Services;
using EQueue.Support;

namespace EQueue.Server.Tests.Services;

public sealed class SystemdUnitTests
{
    private const string Analyzer = "/usr/bin/systemd-analyze";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private static SystemdUnit Usual => new()
    {
        Program = ["/bin/true"],
        ConfigFile = "/etc/equeue/appsettings.json",
        DataDirectory = "/var/lib/equeue",
        LogDirectory = "/var/log/equeue",
        MaxConnections = 18_000,
        StopTime = TimeSpan.FromSeconds(150),
    };

    [Fact]
    public void GivenNoUser_WhenTheUnitIsWritten_ThenSystemdMakesOneAndGivesItTheDirectories()
    {
        string[] lines = LinesOf(Usual with { DataDirectory = "/var/lib/mq/one", LogDirectory = "/var/log/mq" });
        Assert.Contains("DynamicUser=yes", lines);
        Assert.Contains("StateDirectory=mq/one", lines);
        Assert.Contains("LogsDirectory=mq", lines);
        Assert.DoesNotContain(lines, line => line.StartsWith("User=", StringComparison.Ordinal));
    }

    [Fact]
    public void GivenAUser_WhenTheUnitIsWritten_ThenTheTwoDirectoriesAloneMayBeWritten()
    {
        string[] lines = LinesOf(Usual with { User = "mq", DataDirectory = "/srv/the queue", LogDirectory = "/srv/l" });
        Assert.Contains("User=mq", lines);
        Assert.Contains("ProtectSystem=strict", lines);
        Assert.Contains("ReadWritePaths=\"/srv/the queue\" /srv/l", lines);
        Assert.DoesNotContain("DynamicUser=yes", lines);
    }

    [Theory]
    [InlineData(18_000, 65_536)]
    [InlineData(100_000, 116_384)]
    public void GivenConnections_WhenTheUnitIsWritten_ThenEachHasAFile(int connections, int files)
        => Assert.Contains($"LimitNOFILE={files}", LinesOf(Usual with { MaxConnections = connections }));

    [Theory]
    [InlineData("/opt/equeue/server", "yes", "yes")]
    [InlineData("/tmp/server", "no", "yes")]
    [InlineData("/home" + "/mq/server", "yes", "read-only")]
    public void GivenAProgramSomewhere_WhenTheUnitIsWritten_ThenItIsNotHiddenFromTheService(
        string program, string privateTmp, string protectHome)
    {
        string[] lines = LinesOf(Usual with { Program = [program] });
        Assert.Contains($"PrivateTmp={privateTmp}", lines);
        Assert.Contains($"ProtectHome={protectHome}", lines);
    }

    [Fact]
    public void GivenPathsThatSystemdWouldExpand_WhenTheUnitIsWritten_ThenTheyMeanThemselves()
    {
        string[] lines = LinesOf(Usual with { User = "mq", DataDirectory = "/srv/100%i \"$HOME\"\\" });
        Assert.Contains(
            "ExecStart=/bin/true --config /etc/equeue/appsettings.json --data \"/srv/100%%i \\\"$$HOME\\\"\\\\\"", lines);
        Assert.Contains("ReadWritePaths=\"/srv/100%%i \\\"$HOME\\\"\\\\\" /var/log/equeue", lines);
    }

    [Theory]
    [InlineData(null, "/var/lib/equeue")]
    [InlineData("daemon", "/srv/the queue/100%i \"$HOME\"")]
    public async Task GivenSystemdAnalyze_WhenItVerifiesTheUnit_ThenItHasNothingToSay(string? user, string data)
    {
        Assert.SkipUnless(File.Exists(Analyzer), $"{Analyzer}, of Debian's package systemd, is not on this machine.");
        using var directory = new TempDirectory();
        string path = directory[SystemdUnit.FileName];
        await File.WriteAllTextAsync(path, (Usual with { User = user, DataDirectory = data }).Write(), Token);
        (int exitCode, string said) = await VerifyAsync(path);
        Assert.Equal("", said);
        Assert.Equal(0, exitCode);

        // It would say something.
        await File.AppendAllTextAsync(path, "[Service]\nNoSuchThing=1\n", Token);
        (_, said) = await VerifyAsync(path);
        Assert.Contains("NoSuchThing", said, StringComparison.Ordinal);
    }

    private static string[] LinesOf(SystemdUnit unit) => unit.Write().Split('\n');

    private static async Task<(int ExitCode, string Said)> VerifyAsync(string path)
    {
        var start = new ProcessStartInfo(Analyzer, ["verify", "--man=no", path])
        {
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        // The directory before the system's own, where a unit of that name may be hidden.
        start.Environment["SYSTEMD_UNIT_PATH"] = Path.GetDirectoryName(path) + ":";
        using Process process = Process.Start(start)!;
        string said = await process.StandardError.ReadToEndAsync(Token);
        await process.WaitForExitAsync(Token);
        return (process.ExitCode, said);
    }
}
