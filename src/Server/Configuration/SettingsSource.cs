using EQueue.MessageStore;

namespace EQueue.Server.Configuration;

/// <summary>Gathers settings from files, environment and command line, and turns them into options.</summary>
internal static class SettingsSource
{
    /// <summary>The section of EQueue's own settings.</summary>
    public const string Section = "EQueue";

    private const string FileName = "appsettings.json";

    /// <summary>The files that settings are taken from; those that the command line does not name may be
    /// missing.</summary>
    public static IReadOnlyList<string> FilesOf(CommandLine commandLine) =>
    [
        Path.Combine(AppContext.BaseDirectory, FileName),
        commandLine.File ?? Path.Combine(Directory.GetCurrentDirectory(), FileName),
    ];

    /// <summary>Reads every source; the last one wins.</summary>
    /// <exception cref="ConfigurationException">A file is no JSON, or the one that the command line names is not
    /// there.</exception>
    public static IConfigurationRoot Load(CommandLine commandLine)
    {
        if (commandLine.File is { } named && !File.Exists(named))
            throw new ConfigurationException($"--config is '{named}': allowed is a file that is there.");
        try
        {
            var builder = new ConfigurationBuilder();
            foreach (string file in FilesOf(commandLine))
                builder.AddJsonFile(file, optional: file != commandLine.File);
            return builder
                .AddEnvironmentVariables()
                .AddInMemoryCollection(commandLine.Values)
                .Build();
        }
        catch (Exception exception) when (exception is UnauthorizedAccessException or FileNotFoundException)
        {
            throw new ConfigurationException(exception.Message, exception);
        }
        catch (Exception exception) when (exception is InvalidDataException or FormatException)
        {
            string cause = (exception.InnerException ?? exception).Message;
            throw new ConfigurationException($"{exception.Message} {cause}", exception);
        }
    }

    /// <summary>Makes the options; every value is checked, every key is known.</summary>
    /// <exception cref="ConfigurationException">Names the setting, its value and what is allowed.</exception>
    public static ServerOptions Read(IConfiguration configuration)
    {
        var options = new ServerOptions();
        options = options with
        {
            Broker = options.Broker with { DataDirectory = Path.GetFullPath(options.Broker.DataDirectory) },
        };
        foreach ((string key, string? text) in configuration.GetSection(Section).AsEnumerable(makePathsRelative: true))
        {
            if (text is null) continue;
            Setting setting = Settings.Find(key)
                ?? throw new ConfigurationException(
                    $"{Section}:{key} is not a setting; --check-config lists them all.");
            options = (text.Length > 0 ? setting.Read(options, text) : null)
                ?? throw new ConfigurationException($"{setting.Key} is '{text}': allowed is {setting.Allowed}.");
        }

        options = WithBatchLimit(options);
        if (options.Broker.Tls is { Certificate: "" })
            throw new ConfigurationException("Server:Tls:Certificate is not set: the other settings of TLS need it.");
        try
        {
            options.Broker.Validate();
        }
        catch (ArgumentException exception)
        {
            string prefix = exception.Message.StartsWith("Tls:", StringComparison.Ordinal) ? "Server:" : "";
            string message = prefix + exception.Message
                .Replace(" Tls:", " Server:Tls:", StringComparison.Ordinal)
                .Replace("'Tls:", "'Server:Tls:", StringComparison.Ordinal);
            throw new ConfigurationException(message, exception);
        }

        LogLevels.Check(configuration);
        RemoteAccess.Check(options);
        return options;
    }

    /// <summary>
    /// A batch holds at least one message, so its limit follows the message's and what the store can take.
    /// </summary>
    private static ServerOptions WithBatchLimit(ServerOptions options)
    {
        const int Overhead = 64 << 10;
        (long tail, long segment) = (options.Broker.Store.TailMemoryBytes, options.Broker.Store.SegmentSizeBytes);
        string memory = "";
        if (options.Broker.Store.Disk is MemoryDisk disk)
        {
            segment = Math.Min(segment, disk.LargestSegmentBytes);
            memory = $" and Store:Memory is {disk.LimitBytes}";
        }

        int largest = (int)Math.Min(tail / 8 * 3, segment) - 1024;
        int message = options.Broker.Limits.MaxMessageBytes;
        if (message > largest - Overhead)
        {
            throw new ConfigurationException(
                $"Limits:MaxMessageBytes is '{message}': allowed is at most {largest - Overhead} while "
                + $"Store:TailMemoryBytes is {tail} and Store:SegmentSizeBytes is "
                + $"{options.Broker.Store.SegmentSizeBytes}{memory}.");
        }

        return options.WithStore(store => store with
        {
            MaxBatchBytes = Math.Max(message + Overhead, Math.Min(store.MaxBatchBytes, largest)),
        });
    }
}
