using System.Text.Json;
using EQueue.Broker;
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
    /// <exception cref="ConfigurationException">A file is no JSON (names the line and the column), has a section that
    /// nothing reads, or is named by the command line and not there.</exception>
    public static IConfigurationRoot Load(CommandLine commandLine)
    {
        if (commandLine.File is { } named && !File.Exists(named))
            throw new ConfigurationException($"--config is '{named}': allowed is a file that is there.");
        try
        {
            var builder = new ConfigurationBuilder();
            foreach (string file in FilesOf(commandLine))
                builder.AddJsonFile(file, optional: file != commandLine.File);
            IConfigurationRoot configuration = builder
                .AddEnvironmentVariables()
                .AddInMemoryCollection(commandLine.Values)
                .Build();
            SettingsRoots.CheckFiles(configuration);
            SettingsRoots.CheckEnvironment(Environment.GetEnvironmentVariables());
            return configuration;
        }
        catch (Exception exception) when (exception is UnauthorizedAccessException or FileNotFoundException)
        {
            throw new ConfigurationException(exception.Message, exception);
        }
        catch (Exception exception) when (exception is InvalidDataException or FormatException)
        {
            throw new ConfigurationException(Explain(exception), exception);
        }
    }

    /// <summary>Which file cannot be read, where in it, and why.</summary>
    private static string Explain(Exception exception)
    {
        for (Exception? cause = exception; cause is not null; cause = cause.InnerException)
        {
            if (cause is JsonException json && JsonPlace.Explain(json) is { } place)
                return $"{exception.Message} {place}";
        }

        return $"{exception.Message} {(exception.InnerException ?? exception).Message}";
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
            if (text is null)
                continue;
            Setting setting = Settings.Find(key)
                ?? throw new ConfigurationException(
                    $"{Section}:{key} is not a setting; --check-config lists them all."
                    + NearName.Hint(key, Settings.All.Select(static one => one.Key)));
            options = (text.Length > 0 ? setting.Read(options, text) : null)
                ?? throw new ConfigurationException($"{setting.Key} is '{text}': allowed is {setting.Allowed}.");
        }

        options = WithBatchLimit(options);
        UnauthenticatedAccess served = options.Unauthenticated;
        options = options.WithSecurity(security => security with { Unauthenticated = served });
        if (options.Broker.Tls is { Certificate: "" })
            throw new ConfigurationException("Server:Tls:Certificate is not set: the other settings of TLS need it.");
        try
        {
            options.Broker.Validate();
        }
        catch (ArgumentException exception)
        {
            throw new ConfigurationException(Explain(exception), exception);
        }

        LogSection.Check(configuration);
        RemoteAccess.Check(options);
        KeyFiles.Check(options);
        ClusterFiles.Check(options);
        return options;
    }

    /// <summary>The words of options that do not fit together, with the settings' whole names.</summary>
    private static string Explain(ArgumentException exception)
    {
        string message = exception.Message.Split(" (Parameter '")[0];
        string ending = $":{exception.ParamName}";
        bool beginsSo = exception.ParamName is { Length: > 0 } name
            && message.StartsWith(name, StringComparison.Ordinal);
        if (beginsSo && Settings.All.Where(setting => setting.Key.EndsWith(ending, StringComparison.Ordinal)).ToArray()
            is [{ } only])
        {
            return only.Key + message[exception.ParamName!.Length..];
        }

        string prefix = message.StartsWith("Tls:", StringComparison.Ordinal) ? "Server:" : "";
        return prefix + message
            .Replace(" Tls:", " Server:Tls:", StringComparison.Ordinal)
            .Replace("'Tls:", "'Server:Tls:", StringComparison.Ordinal);
    }

    /// <summary>
    /// A batch holds at least one message, so its limit follows the message's and what the store can take.
    /// </summary>
    public static ServerOptions WithBatchLimit(ServerOptions options)
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
