using EQueue.Server.Configuration;
using EQueue.Server.Services;
using EQueue.Support;

namespace EQueue.Server.Tests.Services;

/// <summary>Real files below a directory of the test's own; systemctl, id and chown are only written down.</summary>
public sealed class SystemdServiceTests : IDisposable
{
    private readonly TempDirectory _directory = new();
    private readonly List<string> _commands = [];
    private readonly HashSet<string> _failing = [];
    private bool _hasRights = true;
    private bool _runsSystemd = true;
    private string _output = "";
    private string _error = "";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private string Unit => _directory["units/equeue.service"];

    private string Settings => _directory["etc/appsettings.json"];

    [Fact]
    public async Task GivenAMachineWithoutTheService_WhenInstalledTwice_ThenItIsThereAndTheSecondChangesNothing()
    {
        Assert.Equal(0, await RunAsync("install"));
        Assert.Equal(["systemctl daemon-reload", $"systemctl enable {Unit}"], _commands);
        string unit = await File.ReadAllTextAsync(Unit, Token);
        Assert.Contains($"ExecStart=/opt/equeue-server --config {Settings} --data /var/lib/equeue\n", unit,
            StringComparison.Ordinal);
        Assert.Contains("TimeoutStopSec=150\n", unit, StringComparison.Ordinal);
        if (!OperatingSystem.IsWindows())
            Assert.Equal("OtherRead, GroupRead, UserWrite, UserRead", $"{File.GetUnixFileMode(Unit)}");

        // The file that was made is one that the server takes.
        SettingsSource.Read(SettingsSource.Load(CommandLine.Parse(["--config", Settings])));
        await File.AppendAllTextAsync(Settings, "// mine\n", Token);

        Assert.Equal(0, await RunAsync("install"));
        Assert.Contains($"{Unit} is up to date.", _output, StringComparison.Ordinal);
        Assert.Contains($"{Settings} is there and stays", _output, StringComparison.Ordinal);
        Assert.EndsWith("// mine\n", await File.ReadAllTextAsync(Settings, Token), StringComparison.Ordinal);
        Assert.Equal(unit, await File.ReadAllTextAsync(Unit, Token));
        Assert.Equal(4, _commands.Count);
    }

    [Fact]
    public async Task GivenADryRun_WhenInstalled_ThenTheUnitIsPrintedAndNothingIsThere()
    {
        _hasRights = false;
        Assert.Equal(0, await RunAsync("install", "--dry-run"));
        Assert.StartsWith(SystemdUnit.Mark, _output, StringComparison.Ordinal);
        Assert.Contains("Nothing was changed", _error, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFileSystemEntries(_directory.FullPath));
        Assert.Empty(_commands);
    }

    [Fact]
    public async Task GivenNoRights_WhenInstalledOrUninstalled_ThenItIsRefusedAndNothingChanges()
    {
        _hasRights = false;
        Assert.Equal(1, await RunAsync("install"));
        Assert.Contains("needs the rights of root", _error, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFileSystemEntries(_directory.FullPath));

        _hasRights = true;
        await RunAsync("install");
        _commands.Clear();
        _hasRights = false;
        Assert.Equal(1, await RunAsync("uninstall"));
        Assert.Contains("needs the rights of root", _error, StringComparison.Ordinal);
        Assert.True(File.Exists(Unit));
        Assert.Empty(_commands);
    }

    [Fact]
    public async Task GivenNoSystemdThatRuns_WhenInstalledAndUninstalled_ThenFilesAloneChangeAndItIsSaid()
    {
        _runsSystemd = false;
        Assert.Equal(0, await RunAsync("install"));
        Assert.True(File.Exists(Unit));
        Assert.Contains("systemd does not run here", _output, StringComparison.Ordinal);
        Assert.Equal(0, await RunAsync("uninstall"));
        Assert.False(File.Exists(Unit));
        Assert.Contains("systemd does not run here", _output, StringComparison.Ordinal);
        Assert.Empty(_commands);
    }

    [Fact]
    public async Task GivenANamedUser_WhenInstalled_ThenTheDirectoriesAreMadeForHimAndFormerOnesAreLeft()
    {
        Directory.CreateDirectory(_directory["log"]);
        string[] options = ["--user", "mq", "--data", _directory["data"], "--logs", _directory["log"]];
        Assert.Equal(0, await RunAsync(["install", .. options]));
        Assert.Equal(["id -u mq", $"chown mq: {_directory["data"]}"], _commands[..2]);
        Assert.True(Directory.Exists(_directory["data"]));
        Assert.Contains($"{_directory["log"]} is there and stays as it is", _output, StringComparison.Ordinal);

        // The data stays when the service goes, and is named.
        await File.WriteAllTextAsync(_directory["data/message"], "kept", Token);
        _commands.Clear();
        Assert.Equal(0, await RunAsync("uninstall"));
        Assert.Equal(["systemctl disable --now equeue.service", "systemctl daemon-reload"], _commands);
        Assert.False(File.Exists(Unit));
        Assert.True(File.Exists(_directory["data/message"]));
        Assert.True(File.Exists(Settings));
        Assert.Contains(
            $"The data in {_directory["data"]} and the settings in {Settings} stay.", _output, StringComparison.Ordinal);
        Assert.Equal(0, await RunAsync("uninstall"));
        Assert.Contains("nothing to do", _output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAUnitThatIsNotOurs_WhenADryRunInstalls_ThenItIsRefusedAsTheInstallationWouldBe()
    {
        Directory.CreateDirectory(_directory["units"]);
        await File.WriteAllTextAsync(Unit, "[Unit]\n", Token);
        Assert.Equal(1, await RunAsync("install", "--dry-run"));
        Assert.Contains("was not made by equeue-server install", _error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAUserWhoDoesNotExist_WhenInstalled_ThenItIsRefusedAndNothingChanges()
    {
        _failing.Add("id");
        foreach (string[] dryRun in (string[][])[[], ["--dry-run"]])
        {
            ConfigurationException refused = await Assert.ThrowsAsync<ConfigurationException>(
                () => RunAsync(["install", "--user", "nobody-here", .. dryRun]));
            Assert.Contains("--user is 'nobody-here'", refused.Message, StringComparison.Ordinal);
        }

        Assert.Empty(Directory.GetFileSystemEntries(_directory.FullPath));
    }

    [Theory]
    [InlineData("--data is '/srv/mq': allowed without --user is a directory below /var/lib", "--data", "/srv/mq")]
    [InlineData("--logs is '/srv/mq': allowed without --user is a directory below /var/log", "--logs", "/srv/mq")]
    public async Task GivenAPlaceThatSystemdsUserCannotHave_WhenInstalled_ThenItIsRefused(
        string why, params string[] options)
    {
        ConfigurationException refused = await Assert.ThrowsAsync<ConfigurationException>(
            () => RunAsync(["install", .. options]));
        Assert.Contains(why, refused.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/var/lib/other", null, null)]
    [InlineData("/var/lib/other", "/var/lib/other", null)]
    [InlineData("/var/lib/other", "/var/lib/equeue", "--data is '/var/lib/equeue': allowed is '/var/lib/other'")]
    [InlineData("data", null, "Server:DataDirectory is 'data'")]
    public async Task GivenSettingsThatNameTheDataDirectory_WhenInstalled_ThenTheUnitFollowsThem(
        string configured, string? option, string? refusal)
    {
        await WriteSettingsAsync($$"""{ "EQueue": { "Server": { "DataDirectory": "{{configured}}" } } }""");
        Task<int> installing = RunAsync(option is null ? ["install"] : ["install", "--data", option]);
        if (refusal is null)
        {
            Assert.Equal(0, await installing);
            Assert.Contains("--data /var/lib/other\n", await File.ReadAllTextAsync(Unit, Token), StringComparison.Ordinal);
            return;
        }

        ConfigurationException refused = await Assert.ThrowsAsync<ConfigurationException>(() => installing);
        Assert.Contains(refusal, refused.Message, StringComparison.Ordinal);
        Assert.False(File.Exists(Unit));
    }

    [Fact]
    public async Task GivenSettingsThatTheServerWouldRefuse_WhenInstalled_ThenNothingIsWritten()
    {
        await WriteSettingsAsync("""{ "EQueue": { "Topics": { "QueueCount": "0" } } }""");
        ConfigurationException refused = await Assert.ThrowsAsync<ConfigurationException>(() => RunAsync("install"));
        Assert.Contains("Topics:QueueCount is '0'", refused.Message, StringComparison.Ordinal);
        Assert.False(File.Exists(Unit));
    }

    [Fact]
    public async Task GivenAUnitThatIsNotOurs_WhenInstalledOrUninstalled_ThenItStays()
    {
        Directory.CreateDirectory(_directory["units"]);
        await File.WriteAllTextAsync(Unit, "[Service]\n", Token);
        foreach (string command in (string[])["install", "uninstall"])
        {
            Assert.Equal(1, await RunAsync(command));
            Assert.Contains("was not made by equeue-server install", _error, StringComparison.Ordinal);
        }

        Assert.Equal("[Service]\n", await File.ReadAllTextAsync(Unit, Token));
        Assert.False(File.Exists(Settings));
        Assert.Empty(_commands);
    }

    [Fact]
    public async Task GivenSystemctlThatFails_WhenInstalledOrUninstalled_ThenItsWordsAreToldAndTheUnitStays()
    {
        _failing.Add("systemctl");
        Assert.Equal(1, await RunAsync("install"));
        Assert.Contains("'systemctl daemon-reload' ended with 1: broken", _error, StringComparison.Ordinal);
        Assert.Equal(1, await RunAsync("uninstall"));
        Assert.Contains("'systemctl disable --now equeue.service' ended with 1: broken", _error, StringComparison.Ordinal);
        Assert.True(File.Exists(Unit));
    }

    public void Dispose() => _directory.Dispose();

    private async Task WriteSettingsAsync(string text)
    {
        Directory.CreateDirectory(_directory["etc"]);
        await File.WriteAllTextAsync(Settings, text, Token);
    }

    private async Task<int> RunAsync(params string[] arguments)
    {
        string[] config = arguments[0] == "install" ? ["--config", Settings] : [];
        var request = ServiceRequest.Parse([.. arguments, .. config, "--unit-dir", _directory["units"]]);
        var machine = new ServiceMachine
        {
            HasRights = _hasRights,
            RunsSystemd = _runsSystemd,
            Program = ["/opt/equeue-server"],
            RunAsync = command =>
            {
                _commands.Add(string.Join(' ', command));
                return Task.FromResult(_failing.Contains(command[0]) ? (1, "broken") : (0, ""));
            },
        };
        using var output = new StringWriter();
        using var error = new StringWriter();
        try
        {
            return await new SystemdService(request, machine, output, error).RunAsync();
        }
        finally
        {
            (_output, _error) = ($"{output}", $"{error}");
        }
    }
}
