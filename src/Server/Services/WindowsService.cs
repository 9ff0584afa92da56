using EQueue.Server.Configuration;

namespace EQueue.Server.Services;

/// <summary>Makes the server a service of Windows with <c>sc.exe</c>, and undoes that.</summary>
/// <remarks>Both can be done again. All is checked before anything is changed.</remarks>
internal sealed class WindowsService(
    ServiceRequest request, ServiceMachine machine, TextWriter output, TextWriter error)
{
    public const string Name = "equeue";

    /// <summary>Who runs it: an account that Windows makes with the service, without a password.</summary>
    public const string Account = @"NT SERVICE\equeue";

    /// <summary>A service that is so described is ours to change and to remove.</summary>
    private const string Mark = "EQueue message broker (made by equeue-server install)";

    private const string ServiceControl = "sc.exe";
    private const int IsNotThere = 1060;
    private const int DoesNotRun = 1062;

    /// <summary>After a failure it is started again, twice within five minutes and then no more.</summary>
    private static readonly string[] Recovery = ["reset=", "300", "actions=", "restart/2000/restart/10000//1000"];

    private readonly ServiceFiles _files = new(request, output);

    /// <returns>The exit code: 0 or 1.</returns>
    /// <exception cref="ConfigurationException">An option or a setting cannot be used; nothing was changed.</exception>
    public async Task<int> RunAsync()
    {
        if (request.IsHelp)
        {
            await output.WriteLineAsync(ServiceRequest.Usage);
            return ExitCode.Clean;
        }

        if (request.User is not null || request.UnitDirectory is not null)
        {
            throw new ConfigurationException(
                $"--user and --unit-dir are not options on Windows: the service runs as {Account}.");
        }

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
        (_, string data) = _files.ReadSettings(Path.Combine(ServiceRequest.WindowsPlace, "data"));
        (int found, string said) = await machine.RunAsync([ServiceControl, "query", Name]);
        if (found is not (0 or IsNotThere))
            return await RefuseAsync($"'{ServiceControl} query {Name}' ended with {found}: {said}");
        if (found == 0 && !await IsOursAsync())
            return await RefuseForeignAsync();
        string[][] commands = [.. CommandsOf(data, isThere: found == 0)];
        if (request.IsDryRun)
        {
            foreach (string[] command in commands)
                await output.WriteLineAsync(string.Join(' ', command.Select(Quote)));
            await error.WriteLineAsync("Nothing was changed; these commands would be run.");
            return ExitCode.Clean;
        }

        if (!machine.HasRights)
            return await RefuseAsync("Making a service needs the rights of an administrator; nothing was changed.");
        await _files.WriteConfigurationAsync(Path.Combine(request.LogDirectory, "equeue-.log"));
        Directory.CreateDirectory(data);
        Directory.CreateDirectory(request.LogDirectory);
        foreach (string[] command in commands)
        {
            if (!await DoAsync(command))
                return ExitCode.Other;
        }

        await output.WriteLineAsync($"The service {Name} starts with the machine. Now: {ServiceControl} start {Name}; "
            + "if it runs, stop and start take up changes.");
        return ExitCode.Clean;
    }

    /// <summary>What makes the service, or changes it, once its files are there.</summary>
    private IEnumerable<string[]> CommandsOf(string data, bool isThere)
    {
        string[] program = [.. machine.Program, "--config", request.ConfigFile, "--data", data];
        yield return
        [
            ServiceControl, isThere ? "config" : "create", Name, "binPath=", string.Join(' ', program.Select(Quote)),
            "start=", "delayed-auto", "obj=", Account, "DisplayName=", "EQueue",
        ];
        yield return [ServiceControl, "description", Name, Mark];
        yield return [ServiceControl, "failure", Name, .. Recovery];
        // A stop with an error is a failure too, not only a process that is gone.
        yield return [ServiceControl, "failureflag", Name, "1"];
        foreach (string directory in (string[])[data, request.LogDirectory])
            yield return ["icacls.exe", directory, "/grant", $"{Account}:(OI)(CI)M"];
    }

    private async Task<int> UninstallAsync()
    {
        (int found, string said) = await machine.RunAsync([ServiceControl, "query", Name]);
        if (found == IsNotThere)
        {
            await output.WriteLineAsync($"There is no service {Name}: nothing to do.");
            return ExitCode.Clean;
        }

        if (found != 0)
            return await RefuseAsync($"'{ServiceControl} query {Name}' ended with {found}: {said}");
        if (!await IsOursAsync())
            return await RefuseForeignAsync();
        const string stays = "Its data, settings and logs stay.";
        if (request.IsDryRun)
        {
            await output.WriteLineAsync($"The service {Name} would be stopped and removed. {stays}");
            return ExitCode.Clean;
        }

        if (!machine.HasRights)
            return await RefuseAsync("Removing a service needs the rights of an administrator; nothing was changed.");
        (int stopped, said) = await machine.RunAsync([ServiceControl, "stop", Name]);
        if (stopped is not (0 or DoesNotRun))
            return await RefuseAsync($"'{ServiceControl} stop {Name}' ended with {stopped}: {said}");
        if (!await DoAsync([ServiceControl, "delete", Name]))
            return ExitCode.Other;
        await output.WriteLineAsync($"Removed the service {Name}; if it ran, it is gone once it has stopped. {stays}");
        return ExitCode.Clean;
    }

    private async Task<bool> IsOursAsync()
    {
        (int exitCode, string said) = await machine.RunAsync([ServiceControl, "qdescription", Name]);
        return exitCode == 0 && said.Contains(Mark, StringComparison.Ordinal);
    }

    private Task<int> RefuseForeignAsync() => RefuseAsync(
        $"The service {Name} was not made by equeue-server install; remove it first. Nothing was changed.");

    /// <summary>A word of a command line. Paths hold no quotation marks.</summary>
    private static string Quote(string word) =>
        word.Contains('"') ? $"\"{word.Replace("\"", "\\\"", StringComparison.Ordinal)}\""
        : word.Length == 0 || word.Contains(' ') ? $"\"{word}\"" : word;

    private async Task<bool> DoAsync(string[] command)
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
