using EQueue.Server.Configuration;

namespace EQueue.Server.Services;

/// <summary>What <c>equeue-server install</c> or <c>uninstall</c> is asked to do.</summary>
internal sealed record ServiceRequest
{
    public const string Usage = """
        Usage: equeue-server install [options]      makes the server a service: of systemd (equeue.service) or of
                                                    Windows (equeue)
               equeue-server uninstall [options]    stops and removes it; configuration and data stay

        Options of install:
          --user NAME        the user that the service runs as, who must exist; without it systemd makes one while
                             the service runs
          --data DIR         the data directory (/var/lib/equeue); without --user below /var/lib
          --logs DIR         where log files may be written (/var/log/equeue); without --user below /var/log
          --config FILE      its settings (/etc/equeue/appsettings.json); made if there is none
        Options of both:
          --unit-dir DIR     where the unit is (/etc/systemd/system)
          --dry-run          print the unit, or what would be done, and change nothing
          --help
        On Windows there is no --user and no --unit-dir: the service runs as NT SERVICE\equeue, and all of its
        directories are in %ProgramData%\EQueue unless --data, --logs and --config say otherwise.

        Exit codes: 0 done, or it was so already; 1 not done, such as for want of rights; 2 an option or a setting.
        """;

    /// <summary>Whether the service is to be there or not.</summary>
    public required bool IsInstall { get; init; }

    public bool IsDryRun { get; init; }

    public bool IsHelp { get; init; }

    /// <summary>Where the unit is; null: the usual place.</summary>
    public string? UnitDirectory { get; init; }

    /// <summary>Who runs the service; null: a user that systemd makes.</summary>
    public string? User { get; init; }

    /// <summary>The data directory; null: where the settings say, or the usual place.</summary>
    public string? DataDirectory { get; init; }

    public string LogDirectory { get; init; } =
        OperatingSystem.IsWindows() ? Path.Combine(WindowsPlace, "logs") : "/var/log/equeue";

    /// <summary>The file of the service's settings.</summary>
    public string ConfigFile { get; init; } = OperatingSystem.IsWindows()
        ? Path.Combine(WindowsPlace, "appsettings.json") : "/etc/equeue/appsettings.json";

    /// <summary>Where all of a Windows service is, unless it is said otherwise.</summary>
    public static string WindowsPlace =>
        Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.CommonApplicationData), "EQueue");

    /// <summary>Whether the arguments begin with one of the two commands.</summary>
    public static bool IsMeantBy(IReadOnlyList<string> arguments) =>
        arguments.Count > 0 && arguments[0] is "install" or "uninstall";

    /// <exception cref="ConfigurationException">Names the argument that is not understood.</exception>
    public static ServiceRequest Parse(IReadOnlyList<string> arguments)
    {
        var request = new ServiceRequest { IsInstall = arguments[0] == "install" };
        var seen = new HashSet<string>(StringComparer.Ordinal);
        for (int i = 1; i < arguments.Count; i++)
        {
            string argument = arguments[i];
            int equals = argument.IndexOf('=', StringComparison.Ordinal);
            string flag = equals < 0 ? argument : argument[..equals];
            if (!seen.Add(flag))
                throw new ConfigurationException($"{flag} is given twice.");
            if (equals < 0 && WithSwitch(request, flag) is { } switched)
            {
                request = switched;
                continue;
            }

            string value = equals >= 0 ? argument[(equals + 1)..] : i + 1 < arguments.Count ? arguments[++i] : "";
            request = With(request, flag, value)
                ?? throw new ConfigurationException($"{flag} is not an option of {arguments[0]}; --help lists them.");
            if (value.Length == 0)
                throw new ConfigurationException($"{flag} needs a value.");
        }

        return request;
    }

    private static ServiceRequest? WithSwitch(ServiceRequest request, string flag) => flag switch
    {
        "--dry-run" => request with { IsDryRun = true },
        "--help" or "-h" or "-?" => request with { IsHelp = true },
        _ => null,
    };

    private static ServiceRequest? With(ServiceRequest request, string flag, string value) => flag switch
    {
        "--unit-dir" => request with { UnitDirectory = PathOf(flag, value) },
        "--user" when request.IsInstall => request with { User = NameOf(flag, value) },
        "--data" when request.IsInstall => request with { DataDirectory = PathOf(flag, value) },
        "--logs" when request.IsInstall => request with { LogDirectory = PathOf(flag, value) },
        "--config" when request.IsInstall => request with { ConfigFile = PathOf(flag, value) },
        _ => null,
    };

    private static string PathOf(string flag, string value)
    {
        if (value.Any(char.IsControl))
            throw new ConfigurationException($"{flag} is '{value}': allowed is a path without control characters.");
        return value.Length == 0 ? value : Path.TrimEndingDirectorySeparator(Path.GetFullPath(value));
    }

    private static string NameOf(string flag, string value)
    {
        const int MostBytes = 31;
        bool isName = value.Length <= MostBytes && value.All(static letter =>
            char.IsAsciiLetterOrDigit(letter) || letter is '_' or '-')
            && (value.Length == 0 || char.IsAsciiLetter(value[0]) || value[0] == '_');
        return isName ? value : throw new ConfigurationException(
            $"{flag} is '{value}': allowed are 1 to {MostBytes} letters, digits, _ and -, no digit or - first.");
    }
}
