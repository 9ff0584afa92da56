using System.Diagnostics;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The script for bash, in a real bash.</summary>
public sealed class CompletionTests
{
    [Fact]
    public async Task GivenBash_WhenItCompletesALine_ThenCommandsAndTheBrokersTopicsComeAsItAsksForThem()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "bash is not part of Windows");
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", "async");
        ProgramResult made = await ProgramRun.RunAsync(
            "Cli", "topic", "create", "orders", "orders-old", "bills", "--server", server.Address);
        Assert.True(made.ExitCode == 0, made.Error);
        await File.WriteAllTextAsync(
            directory["equeue"],
            $"#!/bin/sh\nexec dotnet '{ProgramFiles.AssemblyOf("Cli")}' \"$@\"\n",
            TestContext.Current.CancellationToken);
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(directory["equeue"], UnixFileMode.UserRead | UnixFileMode.UserExecute);

        Assert.Equal("top topic", await CompleteAsync(directory, server.Address, "equeue to", "equeue", "to"));
        Assert.Equal(
            "orders orders-old",
            await CompleteAsync(directory, server.Address, "equeue topic describe or", "equeue", "topic", "describe", "or"));
        Assert.Equal(
            "--idle-exit",
            await CompleteAsync(directory, server.Address, "equeue consume --id", "equeue", "consume", "--id"));
    }

    /// <summary>What the completion function of the script gives for a line.</summary>
    private static async Task<string> CompleteAsync(
        TempDirectory directory, string server, string line, params string[] words)
    {
        string script =
            $$"""
            set -e
            source <(equeue completion bash)
            complete -p equeue > /dev/null
            COMP_LINE='{{line}}' COMP_POINT={{line.Length}} COMP_WORDS=({{string.Join(' ', words)}})
            COMP_CWORD={{words.Length - 1}}
            _equeue
            IFS=' '
            echo "${COMPREPLY[*]}"
            """;
        var start = new ProcessStartInfo("bash", ["--norc", "-c", script])
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["PATH"] = $"{directory["."]}:{Environment.GetEnvironmentVariable("PATH")}";
        start.Environment["EQUEUE_SERVER"] = server;
        start.Environment["EQUEUE_COMPLETION_TIMEOUT"] = "30s";
        using Process bash = Process.Start(start)!;
        Task<string> error = bash.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        string output = await bash.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await bash.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(bash.ExitCode == 0, await error);
        return output.Trim();
    }
}
