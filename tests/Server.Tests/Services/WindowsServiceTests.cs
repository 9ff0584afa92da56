using EQueue.Server.Configuration;
using EQueue.Server.Services;
using EQueue.Support;

namespace EQueue.Server.Tests.Services;

/// <summary>Real files below a directory of the test's own; sc.exe and icacls.exe are only written down.</summary>
public sealed class WindowsServiceTests : IDisposable
{
    private const int IsNotThere = 1060;
    private const string Ours = "EQueue message broker (made by equeue-server install)";

    private readonly TempDirectory _directory = new();
    private readonly List<string> _commands = [];
    private readonly Dictionary<string, int> _failing = [];
    private string _described = "";
    private bool _isThere;
    private bool _hasRights = true;
    private string _output = "";
    private string _error = "";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private string Settings => _directory["etc/appsettings.json"];

    private string Data => _directory["the data"];

    private string Logs => _directory["logs"];

    [Fact]
    public async Task GivenNoService_WhenInstalled_ThenItIsMadeWithItsAccountDirectoriesAndRecovery()
    {
        Assert.Equal(0, await RunAsync("install"));
        Assert.Equal(
            [
                "sc.exe query equeue",
                $"sc.exe create equeue binPath= \"/opt/EQueue Server/EQueue.Server.exe\" --config {Settings} --data \"{Data}\""
                    + @" start= delayed-auto obj= NT SERVICE\equeue DisplayName= EQueue",
                $"sc.exe description equeue {Ours}",
                "sc.exe failure equeue reset= 300 actions= restart/2000/restart/10000//1000",
                "sc.exe failureflag equeue 1",
                $@"icacls.exe {Data} /grant NT SERVICE\equeue:(OI)(CI)M",
                $@"icacls.exe {Logs} /grant NT SERVICE\equeue:(OI)(CI)M",
            ],
            _commands);
        Assert.True(Directory.Exists(Data));

        // The file that was made is one that the server takes, and its log goes to a file.
        SettingsSource.Read(SettingsSource.Load(CommandLine.Parse(["--config", Settings])));
        Assert.Contains("equeue-.log", await File.ReadAllTextAsync(Settings, Token), StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenTheService_WhenInstalledAgain_ThenItIsChangedAndTheSettingsStay()
    {
        (_isThere, _described) = (true, $"DESCRIPTION:  {Ours}");
        Directory.CreateDirectory(_directory["etc"]);
        await File.WriteAllTextAsync(Settings, "{}", Token);
        Assert.Equal(0, await RunAsync("install"));
        Assert.Contains(_commands, command => command.StartsWith("sc.exe config equeue binPath= ", StringComparison.Ordinal));
        Assert.DoesNotContain(_commands, command => command.Contains("create", StringComparison.Ordinal));
        Assert.Equal("{}", await File.ReadAllTextAsync(Settings, Token));
    }

    [Theory]
    [InlineData("install")]
    [InlineData("uninstall")]
    public async Task GivenAServiceOfSomebodyElse_WhenInstalledOrUninstalled_ThenItStays(string verb)
    {
        (_isThere, _described) = (true, "DESCRIPTION:  Another broker");
        Assert.Equal(1, await RunAsync(verb));
        Assert.Contains("was not made by equeue-server install", _error, StringComparison.Ordinal);
        Assert.Equal(["sc.exe query equeue", "sc.exe qdescription equeue"], _commands);
    }

    [Theory]
    [InlineData("install")]
    [InlineData("uninstall")]
    public async Task GivenNoRights_WhenInstalledOrUninstalled_ThenItIsRefusedAndNothingChanges(string verb)
    {
        (_isThere, _described, _hasRights) = (true, Ours, false);
        Assert.Equal(1, await RunAsync(verb));
        Assert.Contains("rights of an administrator", _error, StringComparison.Ordinal);
        Assert.All(_commands, command => Assert.StartsWith("sc.exe q", command, StringComparison.Ordinal));
        Assert.Empty(Directory.GetFileSystemEntries(_directory.FullPath));
    }

    [Fact]
    public async Task GivenADryRun_WhenInstalledOrUninstalled_ThenWhatWouldBeDoneIsPrinted()
    {
        _hasRights = false;
        Assert.Equal(0, await RunAsync("install", "--dry-run"));
        Assert.Contains("sc.exe create equeue binPath= \"\\\"/opt/EQueue Server/", _output, StringComparison.Ordinal);
        Assert.Equal(["sc.exe query equeue"], _commands);
        (_isThere, _described) = (true, Ours);
        Assert.Equal(0, await RunAsync("uninstall", "--dry-run"));
        Assert.Contains("would be stopped and removed", _output, StringComparison.Ordinal);
        Assert.All(_commands, command => Assert.StartsWith("sc.exe q", command, StringComparison.Ordinal));
        Assert.Empty(Directory.GetFileSystemEntries(_directory.FullPath));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1062)]
    public async Task GivenTheServiceWhetherItRunsOrNot_WhenUninstalled_ThenItIsStoppedAndRemoved(int stopped)
    {
        (_isThere, _described, _failing["stop"]) = (true, Ours, stopped);
        Assert.Equal(0, await RunAsync("uninstall"));
        Assert.Equal(["sc.exe stop equeue", "sc.exe delete equeue"], _commands[^2..]);
        _isThere = false;
        Assert.Equal(0, await RunAsync("uninstall"));
        Assert.Contains("nothing to do", _output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("query", 5)]
    [InlineData("stop", 5)]
    [InlineData("delete", 1072)]
    public async Task GivenACommandThatFails_WhenUninstalled_ThenItsWordsAreTold(string verb, int exitCode)
    {
        (_isThere, _described, _failing[verb]) = (true, Ours, exitCode);
        Assert.Equal(1, await RunAsync("uninstall"));
        Assert.Contains($"'sc.exe {verb} equeue' ended with {exitCode}: no luck", _error, StringComparison.Ordinal);
        Assert.EndsWith($"sc.exe {verb} equeue", _commands[^1], StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenOptionsOrSettingsThatCannotBe_WhenInstalled_ThenNothingIsWritten()
    {
        await Assert.ThrowsAsync<ConfigurationException>(() => RunAsync("install", "--user", "mq"));
        await Assert.ThrowsAsync<ConfigurationException>(() => RunAsync("install", "--unit-dir", "/x"));
        Directory.CreateDirectory(_directory["etc"]);
        await File.WriteAllTextAsync(Settings, """{"EQueue":{"Store":{"FlushPolicy":"never"}}}""", Token);
        await Assert.ThrowsAsync<ConfigurationException>(() => RunAsync("install"));
        Assert.Empty(_commands);
    }

    public void Dispose() => _directory.Dispose();

    private async Task<int> RunAsync(string verb, params string[] options)
    {
        string[] places = verb == "install" ? ["--config", Settings, "--data", Data, "--logs", Logs] : [];
        using StringWriter output = new(), error = new();
        var machine = new ServiceMachine
        {
            HasRights = _hasRights,
            Program = ["/opt/EQueue Server/EQueue.Server.exe"],
            RunAsync = Answer,
        };
        var service = new WindowsService(
            ServiceRequest.Parse([verb, .. places, .. options]), machine, output, error);
        try
        {
            return await service.RunAsync();
        }
        finally
        {
            (_output, _error) = ($"{output}", $"{error}");
        }
    }

    private Task<(int ExitCode, string Output)> Answer(string[] command)
    {
        _commands.Add(string.Join(' ', command));
        int exitCode = _failing.GetValueOrDefault(command[1]);
        return Task.FromResult(command[1] switch
        {
            "query" when !_isThere => (IsNotThere, "no such service"),
            "qdescription" => (0, _described),
            _ => (exitCode, exitCode == 0 ? "" : "no luck"),
        });
    }
}
