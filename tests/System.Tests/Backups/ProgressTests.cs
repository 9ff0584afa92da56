using System.Diagnostics;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Long work shows how far it has come: at a terminal, and nowhere else.</summary>
public sealed class ProgressTests
{
    private const string Terminal = "/usr/bin/script";

    [Fact]
    public async Task GivenATerminal_WhenFilesAreVerifiedBackedUpAndRestored_ThenABarIsShownButNotWithJsonOrElsewhere()
    {
        using var directory = new TempDirectory();
        VersionContent.Copy(VersionContent.Folders[0], directory["data"]);
        string[] verify = ["log", "verify", directory["data"]];
        ProgramResult elsewhere = await ProgramRun.RunAsync("Cli", verify);
        Assert.True(elsewhere.ExitCode == 0, elsewhere.Error);
        Assert.DoesNotContain("%", elsewhere.OutputText + elsewhere.Error, StringComparison.Ordinal);

        Assert.SkipUnless(File.Exists(Terminal), $"{Terminal}, which makes a terminal, is not there");
        Assert.DoesNotContain("%", (await AtTerminalAsync([.. verify, "--json"])).OutputText, StringComparison.Ordinal);
        string[][] lines =
        [
            verify,
            ["backup", directory["backup"], "--data", directory["data"]],
            ["restore", directory["backup"], "--data", directory["restored"]],
        ];
        foreach (string[] line in lines)
        {
            ProgramResult shown = await AtTerminalAsync(line);
            Assert.True(shown.ExitCode == 0, shown.OutputText);
            Assert.Contains("%", shown.OutputText, StringComparison.Ordinal);
        }
    }

    private static Task<ProgramResult> AtTerminalAsync(string[] line)
    {
        string command = string.Join(' ', ((string[])["dotnet", ProgramFiles.AssemblyOf("Cli"), .. line]).Select(
            word => $"'{word}'"));
        var start = new ProcessStartInfo(Terminal, ["-qec", command, "/dev/null"]);
        start.Environment["TERM"] = "xterm-256color";
        return ToolRun.RunAsync(start);
    }
}
