using EQueue.Server.Configuration;

namespace EQueue.Server.Services;

/// <summary>The settings of a service that is installed, and the files that installing writes.</summary>
internal sealed class ServiceFiles(ServiceRequest request, TextWriter output)
{
    private const string DataKey = "EQueue:Server:DataDirectory";
    private const UnixFileMode PublicFile = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead
        | UnixFileMode.OtherRead;

    /// <summary>What the service's settings are, if there are some already, and where its data is to be.</summary>
    /// <param name="usualDataDirectory">When neither the request nor the settings say.</param>
    /// <exception cref="ConfigurationException">The server would refuse them, or the request differs.</exception>
    public (ServerOptions Options, string DataDirectory) ReadSettings(string usualDataDirectory)
    {
        var options = new ServerOptions();
        string? configured = null;
        if (File.Exists(request.ConfigFile))
        {
            var commandLine = new CommandLine(
                new Dictionary<string, string?>(StringComparer.Ordinal), CommandMode.Serve, request.ConfigFile);
            options = SettingsSource.Read(SettingsSource.Load(commandLine));
            configured = new ConfigurationBuilder().AddJsonFile(request.ConfigFile).Build()[DataKey];
        }

        if (configured is not null && !Path.IsPathRooted(configured))
        {
            throw new ConfigurationException($"Server:DataDirectory is '{configured}' in {request.ConfigFile}: "
                + "allowed for a service is an absolute path.");
        }

        string data = request.DataDirectory ?? configured ?? usualDataDirectory;
        if (configured is not null
            && Path.TrimEndingDirectorySeparator(configured) != Path.TrimEndingDirectorySeparator(data))
        {
            throw new ConfigurationException($"--data is '{data}': allowed is '{configured}' alone, "
                + $"which {request.ConfigFile} says.");
        }

        return (options, data);
    }

    /// <summary>Makes the file of settings when there is none.</summary>
    /// <param name="logFile">Where the log goes beside the console; null: nowhere.</param>
    public async Task WriteConfigurationAsync(string? logFile)
    {
        if (File.Exists(request.ConfigFile))
        {
            await output.WriteLineAsync($"{request.ConfigFile} is there and stays as it is.");
            return;
        }

        var usual = new ServerOptions();
        string text = $$"""
            {
              // The service's settings; --check-config lists them all. The service names the data directory.
              "EQueue": {
                "Server": {
                  "Listen": "{{usual.Broker.Listen}}",
                  "AdminListen": "{{usual.AdminListen}}"
                }
              },
              "Serilog": {
                "MinimumLevel": { "Default": "Information", "Override": { "Microsoft": "Warning" } }{{WriteTo(logFile)}}
              }
            }

            """;
        Directory.CreateDirectory(Path.GetDirectoryName(request.ConfigFile)!);
        await ReplaceAsync(request.ConfigFile, text);
        await output.WriteLineAsync($"Made {request.ConfigFile}.");
    }

    /// <summary>Writes a file as a whole or not at all.</summary>
    public static async Task ReplaceAsync(string path, string text)
    {
        string fresh = path + ".new";
        await File.WriteAllTextAsync(fresh, text);
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(fresh, PublicFile);
        File.Move(fresh, path, overwrite: true);
    }

    private static string WriteTo(string? logFile)
    {
        if (logFile is null)
            return "";
        string path = System.Text.Json.JsonSerializer.Serialize(logFile);
        return ",\n    \"WriteTo\": [{ \"Name\": \"File\", \"Args\": "
            + $"{{ \"path\": {path}, \"rollingInterval\": \"Day\", \"retainedFileCountLimit\": 14 }} }}]";
    }
}
