namespace EQueue.Server.Configuration;

/// <summary>What the command line asks for.</summary>
/// <param name="Values">Settings by their full configuration key.</param>
/// <param name="Mode">Whether to serve, or only to say something.</param>
/// <param name="File">The file of settings that it names, as an absolute path.</param>
internal sealed record CommandLine(IReadOnlyDictionary<string, string?> Values, CommandMode Mode, string? File = null)
{
    public const string Usage = """
        Usage: equeue-server [options]
               equeue-server install|uninstall [--help]    as a service of this machine

        Serves EQueue's protocol, keeping messages in one directory. Prints one line once recovered and serving:
          ready data=HOST:PORT admin=HOST:PORT|none pid=N dir=/absolute/path

        Options:
          --data DIR             the data directory (./data)
          --listen HOST:PORT     where clients connect (127.0.0.1:9490); port 0 takes any free one; or unix:/path;
                                 several are separated by commas
          --admin HOST:PORT      where health, metrics and the HTTP API are (127.0.0.1:9491); none turns
                                 them off
          --flush sync|async     acknowledge when durable (sync, the default) or when written
          --Section:Key value    any setting of appsettings.json's section EQueue, such as --Topics:QueueCount 8
          --config FILE          a file of settings like appsettings.json, instead of the current directory's
          --check-config         check the configuration, print it, and end
          --version, --help

        Settings are taken from appsettings.json beside the program, the file of --config or else appsettings.json
        in the current directory, the environment (EQUEUE__Section__Key) and the command line; the last one wins.

        Exit codes: 0 stopped, 1 other, 2 configuration, 3 data directory locked, unreadable, of another version or
        without room, 4 port in use, 5 store fault.
        """;

    private const string FileFlag = "--config";

    private static readonly Dictionary<string, string> ShortFlags = new(StringComparer.Ordinal)
    {
        ["--data"] = "Server:DataDirectory",
        ["--listen"] = "Server:Listen",
        ["--admin"] = "Server:AdminListen",
        ["--flush"] = "Store:FlushPolicy",
    };

    private static IEnumerable<string> Flags =>
    [
        .. ShortFlags.Keys, FileFlag, "--check-config", "--version", "--help",
        .. Settings.All.Select(static setting => $"--{setting.Key}"),
    ];

    /// <summary>Reads the arguments; each is a known flag, and those with a value have one.</summary>
    /// <exception cref="ConfigurationException">Names the argument that is not understood.</exception>
    public static CommandLine Parse(IReadOnlyList<string> arguments)
    {
        var values = new Dictionary<string, string?>(StringComparer.OrdinalIgnoreCase);
        CommandMode mode = CommandMode.Serve;
        string? file = null;
        for (int i = 0; i < arguments.Count; i++)
        {
            string argument = arguments[i];
            if (ModeOf(argument) is { } asked)
            {
                mode = mode == CommandMode.Serve ? asked : mode;
                continue;
            }

            int equals = argument.IndexOf('=');
            string flag = equals < 0 ? argument : argument[..equals];
            string key = flag == FileFlag ? flag : KeyOf(flag);
            string? value = equals >= 0 ? argument[(equals + 1)..] : i + 1 < arguments.Count ? arguments[++i] : null;
            if (string.IsNullOrEmpty(value))
                throw new ConfigurationException($"{flag} needs a value.");
            bool isNew = key == FileFlag ? file is null : values.TryAdd(key, value);
            if (!isNew)
                throw new ConfigurationException($"{flag} is given twice.");
            if (key == FileFlag)
                file = Path.GetFullPath(value);
        }

        return new CommandLine(values, mode, file);
    }

    private static CommandMode? ModeOf(string argument) => argument switch
    {
        "--help" or "-h" or "-?" => CommandMode.Help,
        "--version" => CommandMode.Version,
        "--check-config" => CommandMode.CheckConfiguration,
        _ => null,
    };

    private static string KeyOf(string flag)
    {
        if (ShortFlags.TryGetValue(flag, out string? key))
            return $"{SettingsSource.Section}:{key}";
        string name = flag.StartsWith("--", StringComparison.Ordinal) ? flag[2..] : "";
        if (name.StartsWith("Serilog:", StringComparison.OrdinalIgnoreCase))
            return name;
        return Settings.Find(name) is { } setting
            ? $"{SettingsSource.Section}:{setting.Key}"
            : throw new ConfigurationException(
                $"{flag} is not an option of equeue-server; --help lists them.{NearName.Hint(flag, Flags)}");
    }
}
