namespace EQueue.Server.Configuration;

/// <summary>The levels of the log, in section Serilog:MinimumLevel; they may change while the server runs.</summary>
internal static class LogLevels
{
    private const string Section = "Serilog:MinimumLevel";

    private static readonly string[] Allowed = ["Verbose", "Debug", "Information", "Warning", "Error", "Fatal"];

    /// <exception cref="ConfigurationException">One is no level; names it and those that there are.</exception>
    public static void Check(IConfiguration configuration)
    {
        foreach ((string key, string value) in Find(configuration))
        {
            if (!Allowed.Contains(value, StringComparer.OrdinalIgnoreCase))
                throw new ConfigurationException($"{key} is '{value}': allowed is {string.Join(", ", Allowed)}.");
        }
    }

    /// <summary>Levels by their keys: the default one, and those of single sources.</summary>
    public static IReadOnlyDictionary<string, string> Find(IConfiguration configuration)
    {
        var levels = new SortedDictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        foreach ((string key, string? value) in configuration.GetSection(Section).AsEnumerable())
        {
            bool isLevel = key.Equals(Section, StringComparison.OrdinalIgnoreCase)
                || key.Equals($"{Section}:Default", StringComparison.OrdinalIgnoreCase)
                || key.StartsWith($"{Section}:Override:", StringComparison.OrdinalIgnoreCase);
            if (isLevel && value is not null)
                levels[key] = value;
        }

        return levels;
    }
}
