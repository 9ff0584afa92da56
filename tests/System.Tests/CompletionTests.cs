using System.Diagnostics;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The scripts for bash and zsh, in a real bash and a real zsh.</summary>
public sealed class CompletionTests
{
    [Theory]
    [InlineData("bash")]
    [InlineData("zsh")]
    public async Task GivenAShell_WhenItCompletesALine_ThenCommandsAndTheBrokersTopicsComeAsItAsksForThem(string shell)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "neither shell is part of Windows");
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

        Assert.Equal("token top topic", await CompleteAsync(shell, directory, server.Address, "equeue", "to"));
        Assert.Equal(
            "orders orders-old",
            await CompleteAsync(shell, directory, server.Address, "equeue", "topic", "describe", "or"));
        Assert.Equal(
            "--idle-exit",
            await CompleteAsync(shell, directory, server.Address, "equeue", "consume", "--id"));
        Assert.Equal(
            "bills orders orders-old",
            await CompleteAsync(shell, directory, server.Address, "equeue", "topic", "delete", ""));
        Assert.Equal(
            shell == "bash" ? "orders orders-old" : "topic:orders topic:orders-old",
            await CompleteAsync(shell, directory, server.Address, "equeue", "acl", "allow", "user:u", "read", "topic:or"));
    }

    /// <summary>What the completion function of the script gives for a line, once it has been loaded.</summary>
    private static async Task<string> CompleteAsync(
        string shell, TempDirectory directory, string server, params string[] words)
    {
        string quoted = string.Join(' ', words.Select(word => $"'{word}'"));
        string[] arguments = shell == "zsh"
            ? ["-f", "-c", ZshScript(quoted, words.Length)]
            : ["--norc", "-c", BashScript(string.Join(' ', words), quoted, words.Length)];
        var start = new ProcessStartInfo(shell, arguments)
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["PATH"] = $"{directory["."]}:{Environment.GetEnvironmentVariable("PATH")}";
        start.Environment["EQUEUE_SERVER"] = server;
        start.Environment["EQUEUE_COMPLETION_TIMEOUT"] = "30s";
        using Process running = Process.Start(start)!;
        Task<string> error = running.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        string output = await running.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await running.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(running.ExitCode == 0, await error);
        return output.Trim();
    }

    private static string BashScript(string line, string words, int count) =>
        $$"""
        set -e
        source <(equeue completion bash)
        complete -p equeue > /dev/null
        COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
        COMP_LINE='{{line}}' COMP_POINT={{line.Length}} COMP_WORDS=({{words}})
        COMP_CWORD={{count - 1}}
        _equeue
        IFS=' '
        echo "${COMPREPLY[*]}"
        """;

    /// <summary>Outside of a line that is typed zsh has no compadd; one in its place says what it was given.</summary>
    private static string ZshScript(string words, int count) =>
        $$"""
        set -e
        autoload -Uz compinit
        compinit -u -D
        source <(equeue completion zsh)
        [[ ${_comps[equeue]} == _equeue ]]
        compadd() { shift; print -- "$@" }
        words=({{words}}) CURRENT={{count}}
        _equeue
        """;
}
