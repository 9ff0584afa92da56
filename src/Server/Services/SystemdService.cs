using EQueue.Server.Configuration;

namespace EQueue.Server.Services;

/// <summary>Makes the server a service of systemd, and undoes that.</summary>
/// <remarks>Both can be done again: what is so already stays. All is checked before anything is changed.</remarks>
internal sealed class SystemdService(
    ServiceRequest request, ServiceMachine machine, TextWriter output, TextWriter error)
{
    private const string UsualDataDirectory = "/var/lib/equeue";
    private const UnixFileMode OwnDirectory = UnixFileMode.UserRead | UnixFileMode.UserWrite
        | UnixFileMode.UserExecute | UnixFileMode.GroupRead | UnixFileMode.GroupExecute;

    /// <summary>Between the server's own end of patience and systemd's.</summary>
    private static readonly TimeSpan StopMargin = TimeSpan.FromSeconds(20);

    private readonly ServiceFiles _files = new(request, output);
    private readonly string _unitDirectory = request.UnitDirectory ?? "/etc/systemd/system";

    private string UnitPath => Path.Combine(_unitDirectory, SystemdUnit.FileName);

    /// <returns>The exit code: 0 or 1.</returns>
    /// <exception cref="ConfigurationException">An option or a setting cannot be used; nothing was changed.</exception>
    public async Task<int> RunAsync()
    {
        if (request.IsHelp)
        {
            await output.WriteLineAsync(ServiceRequest.Usage);
            return ExitCode.Clean;
        }

        if (!OperatingSystem.IsLinux())
            return await RefuseAsync("Services of systemd and of Windows alone are known; start the server yourself.");
        try
        {
            return request.IsInstall ? await InstallAsync() : await UninstallAsync();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return await RefuseAsync(exception.Message);
        }
    }

    private async Task<int> InstallAsync()
    {
        SystemdUnit unit = Plan();
        string text = unit.Write();
        if (await IsForeignAsync())
            return await RefuseForeignAsync();
        if (request.User is { } user && (await machine.RunAsync(["id", "-u", user])).ExitCode != 0)
        {
            throw new ConfigurationException($"--user is '{user}': allowed is a user who exists; "
                + $"'useradd --system --shell /usr/sbin/nologin {user}' makes one. Nothing was changed.");
        }

        if (request.IsDryRun)
        {
            await output.WriteAsync(text);
            await error.WriteLineAsync($"Nothing was changed; this would be {UnitPath}.");
            return ExitCode.Clean;
        }

        if (!machine.HasRights)
            return await RefuseAsync($"Writing {UnitPath} needs the rights of root; nothing was changed.");
        await _files.WriteConfigurationAsync(logFile: null);
        if (!await MakeDirectoriesAsync(unit))
            return ExitCode.Other;
        await WriteUnitAsync(text);
        return await EnableAsync();
    }

    private SystemdUnit Plan()
    {
        (ServerOptions options, string data) = _files.ReadSettings(UsualDataDirectory);
        CheckBelow("--data", data, "/var/lib");
        CheckBelow("--logs", request.LogDirectory, "/var/log");
        return new SystemdUnit
        {
            Program = machine.Program,
            ConfigFile = request.ConfigFile,
            DataDirectory = data,
            LogDirectory = request.LogDirectory,
            User = request.User,
            MaxConnections = options.Broker.Limits.MaxConnections,
            StopTime = options.StopTime + StopMargin,
        };
    }

    private void CheckBelow(string flag, string directory, string parent)
    {
        if (request.User is null && !directory.StartsWith(parent + '/', StringComparison.Ordinal))
        {
            throw new ConfigurationException(
                $"{flag} is '{directory}': allowed without --user is a directory below {parent}.");
        }
    }

    private async Task<bool> IsForeignAsync() => File.Exists(UnitPath)
        && !(await File.ReadAllTextAsync(UnitPath)).StartsWith(SystemdUnit.Mark, StringComparison.Ordinal);

    private Task<int> RefuseForeignAsync() => RefuseAsync(
        $"{UnitPath} was not made by equeue-server install; move it away first. Nothing was changed.");

    /// <summary>Makes the directories of a named user; systemd makes those of its own.</summary>
    private async Task<bool> MakeDirectoriesAsync(SystemdUnit unit)
    {
        if (unit.User is not { } user)
            return true;
        foreach (string directory in (string[])[unit.DataDirectory, unit.LogDirectory])
        {
            if (Directory.Exists(directory))
            {
                await output.WriteLineAsync($"{directory} is there and stays as it is; {user} must be able to write.");
                continue;
            }

            Directory.CreateDirectory(directory);
            if (!OperatingSystem.IsWindows())
                File.SetUnixFileMode(directory, OwnDirectory);
            if (!await DoAsync("chown", $"{user}:", directory))
                return false;
            await output.WriteLineAsync($"Made {directory} for {user}.");
        }

        return true;
    }

    private async Task WriteUnitAsync(string text)
    {
        if (File.Exists(UnitPath) && await File.ReadAllTextAsync(UnitPath) == text)
        {
            await output.WriteLineAsync($"{UnitPath} is up to date.");
            return;
        }

        Directory.CreateDirectory(_unitDirectory);
        await ServiceFiles.ReplaceAsync(UnitPath, text);
        await output.WriteLineAsync($"Wrote {UnitPath}.");
    }

    private async Task<int> EnableAsync()
    {
        if (!machine.RunsSystemd)
        {
            await output.WriteLineAsync("systemd does not run here: nothing was enabled or started. Where it does: "
                + "systemctl daemon-reload; systemctl enable --now equeue");
            return ExitCode.Clean;
        }

        if (!await DoAsync("systemctl", "daemon-reload") || !await DoAsync("systemctl", "enable", UnitPath))
            return ExitCode.Other;
        await output.WriteLineAsync(
            "Enabled: it starts with the machine. Now: systemctl start equeue; if it runs, restart takes up changes.");
        return ExitCode.Clean;
    }

    private async Task<int> UninstallAsync()
    {
        if (!File.Exists(UnitPath))
        {
            await output.WriteLineAsync($"{UnitPath} is not there: nothing to do.");
            return ExitCode.Clean;
        }

        if (await IsForeignAsync())
            return await RefuseForeignAsync();
        string[] lines = await File.ReadAllLinesAsync(UnitPath);
        string stays = $"The data in {ValueOf(lines, "Data=")} and the settings in {ValueOf(lines, "Config=")} stay.";
        if (request.IsDryRun)
        {
            await output.WriteLineAsync($"equeue.service would be stopped and disabled, {UnitPath} removed. {stays}");
            return ExitCode.Clean;
        }

        if (!machine.HasRights)
            return await RefuseAsync($"Removing {UnitPath} needs the rights of root; nothing was changed.");
        if (machine.RunsSystemd && !await DoAsync("systemctl", "disable", "--now", SystemdUnit.FileName))
            return ExitCode.Other;
        File.Delete(UnitPath);
        await output.WriteLineAsync($"Removed {UnitPath}. {stays}");
        if (!machine.RunsSystemd)
            await output.WriteLineAsync("systemd does not run here: nothing was stopped or disabled.");
        else if (!await DoAsync("systemctl", "daemon-reload"))
            return ExitCode.Other;
        return ExitCode.Clean;
    }

    private static string ValueOf(string[] lines, string key) =>
        lines.LastOrDefault(line => line.StartsWith(key, StringComparison.Ordinal))?[key.Length..] ?? "its place";

    private async Task<bool> DoAsync(params string[] command)
    {
        (int exitCode, string said) = await machine.RunAsync(command);
        if (exitCode == 0)
            return true;
        await RefuseAsync($"'{string.Join(' ', command)}' ended with {exitCode}: {said}");
        return false;
    }

    private async Task<int> RefuseAsync(string why)
    {
        await error.WriteLineAsync($"equeue-server: {why}");
        return ExitCode.Other;
    }
}
