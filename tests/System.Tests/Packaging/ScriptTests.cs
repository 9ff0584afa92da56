using System.Diagnostics;
using EQueue.Support;

namespace EQueue.System.Tests.Packaging;

/// <summary>The scripts that build, beside a <c>dotnet</c> that only writes down what it is asked for.</summary>
public sealed class ScriptTests : IDisposable
{
    private readonly TempDirectory _directory = new();

    [Fact]
    public async Task GivenAnEmptyClone_WhenTheServerIsStartedByItsScript_ThenEachStepIsTold()
    {
        if (OperatingSystem.IsWindows())
            Assert.Skip("run.sh is a shell's.");
        Fake("""
            case "$1" in
                build) echo "Restored a project"; mkdir -p artifacts/bin/Server/release
                       echo > artifacts/bin/Server/release/EQueue.Server.dll ;;
                *) echo "ready data=x" ;;
            esac
            """);
        ProgramResult first = await RunAsync("run.sh", "--data", "d");
        Assert.Equal("ready data=x\n", first.OutputText);
        string[] told = first.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.StartsWith("run.sh: first start: fetching packages and building", told[0], StringComparison.Ordinal);
        Assert.Equal("Restored a project", told[1]);
        Assert.Matches(@"^run\.sh: built in \d+ s; starting the server$", told[^1]);
        Assert.Contains("--verbosity minimal", Asked()[0], StringComparison.Ordinal);
        Assert.EndsWith("EQueue.Server.dll --data d", Asked()[1], StringComparison.Ordinal);

        ProgramResult second = await RunAsync("run.sh");
        Assert.StartsWith("run.sh: building what has changed", second.Error, StringComparison.Ordinal);
        Assert.Contains("--verbosity quiet", Asked()[2], StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAPlatform_WhenItsArchiveIsMade_ThenItHoldsTheServerAndTheCommandLine()
    {
        if (OperatingSystem.IsWindows())
            Assert.Skip("publish.sh is a shell's.");
        Fake("""
            if [ "$1" = msbuild ]; then echo 3.0.0; exit; fi
            project=$(basename "$2")
            while [ "$1" != --output ]; do shift; done
            mkdir -p "$2" && echo "$project" > "$2/EQueue.$project"
            """);
        foreach (string file in (string[])["LICENSE", "README.md"])
            File.Copy(Path.Combine(ProgramFiles.Root, file), _directory[file]);
        ProgramResult made = await RunAsync("publish.sh", "linux-x64");
        Assert.True(made.ExitCode == 0, made.Error);
        const string Name = "equeue-server-3.0.0-linux-x64";
        ProgramResult listed = await ToolRun.RunAsync("tar", "-tf", _directory[$"artifacts/archives/{Name}.tar.gz"]);
        string[] entries = listed.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        foreach (string entry in (string[])["EQueue.Server", "EQueue.Cli", "equeue", "equeue-server", "LICENSE", "README.md"])
            Assert.Contains($"{Name}/{entry}", entries);
        ProgramResult linked = await ToolRun.RunAsync(
            "tar", "-xOf", _directory[$"artifacts/archives/{Name}.tar.gz"], $"{Name}/EQueue.Cli");
        Assert.Equal("Cli\n", linked.OutputText);
    }

    [Theory]
    [InlineData("run.sh", "run.ps1", "first start: fetching packages and building the server")]
    [InlineData("publish.sh", "publish.ps1", "EQueue.Cli")]
    public void GivenAScriptForWindows_WhenComparedWithTheOther_ThenItDoesTheSame(string shell, string windows, string what)
    {
        Assert.Contains(what, File.ReadAllText(Path.Combine(ProgramFiles.Root, shell)), StringComparison.Ordinal);
        Assert.Contains(what, File.ReadAllText(Path.Combine(ProgramFiles.Root, windows)), StringComparison.Ordinal);
    }

    public void Dispose() => _directory.Dispose();

    private string[] Asked() => File.ReadAllLines(_directory["asked"]);

    private void Fake(string script)
    {
        Directory.CreateDirectory(_directory["bin"]);
        File.WriteAllText(_directory["bin/dotnet"], $"#!/bin/sh\ncd '{_directory.FullPath}'\necho \"$*\" >> asked\n{script}\n");
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(_directory["bin/dotnet"], UnixFileMode.UserRead | UnixFileMode.UserExecute);
    }

    private Task<ProgramResult> RunAsync(string script, params string[] arguments)
    {
        File.Copy(Path.Combine(ProgramFiles.Root, script), _directory[script], overwrite: true);
        var start = new ProcessStartInfo("bash", [_directory[script], .. arguments])
        {
            WorkingDirectory = _directory.FullPath,
        };
        start.Environment["PATH"] = _directory["bin"] + Path.PathSeparator + Environment.GetEnvironmentVariable("PATH");
        return ToolRun.RunAsync(start);
    }
}
