using System.Collections;
using Microsoft.Extensions.Configuration.Json;

namespace EQueue.Server.Configuration;

/// <summary>Holds that nothing of a settings file is passed over: what stands beside the sections that are read, and
/// variables of the environment that were meant for them, are errors.</summary>
internal static class SettingsRoots
{
    private const string Between = "__";

    private static readonly string[] Known = [SettingsSource.Section, LogSection.Name];

    /// <exception cref="ConfigurationException">A file has another section; names both.</exception>
    public static void CheckFiles(IConfigurationRoot configuration)
    {
        foreach (JsonConfigurationProvider file in configuration.Providers.OfType<JsonConfigurationProvider>())
        {
            string? wrong = file.GetChildKeys([], null).FirstOrDefault(static name => !IsKnown(name));
            if (wrong is null)
                continue;
            string path = file.Source.FileProvider?.GetFileInfo(file.Source.Path!).PhysicalPath ?? file.Source.Path!;
            throw new ConfigurationException($"{path} has a section \"{wrong}\", which nothing reads: allowed is "
                + $"\"{SettingsSource.Section}\", which holds all settings, and \"{LogSection.Name}\"."
                + Explain(wrong));
        }
    }

    /// <exception cref="ConfigurationException">A variable names a setting below a misspelt root.</exception>
    public static void CheckEnvironment(IDictionary variables)
    {
        foreach (string name in variables.Keys.Cast<string>().Order(StringComparer.Ordinal))
        {
            if (FindMeant(name) is { } meant)
            {
                throw new ConfigurationException(
                    $"{name} in the environment sets nothing: allowed is {meant}, with two underscores between parts.");
            }
        }
    }

    private static bool IsKnown(string name) => Known.Contains(name, StringComparer.OrdinalIgnoreCase);

    private static string Explain(string wrong)
    {
        string[] sections = [.. Settings.All.Select(static setting => setting.Key.Split(':')[0]).Distinct()];
        if (sections.Contains(wrong, StringComparer.OrdinalIgnoreCase))
            return $" Put it there: {{ \"{SettingsSource.Section}\": {{ \"{wrong}\": ... }} }}.";
        return NearName.Find(wrong, Known) is { } near
            ? $" Did you mean \"{near}\"?"
            : " A file of another program's? --config names the one to read.";
    }

    /// <summary>How a variable would have to be written that is one of a setting but for its root; null: it is none.
    /// </summary>
    private static string? FindMeant(string name)
    {
        foreach (int length in (int[])[Between.Length, 1])
        {
            int at = name.IndexOf('_', StringComparison.Ordinal);
            if (at <= 0 || at + length >= name.Length)
                return null;
            string rest = name[(at + length)..].Replace(Between, ":", StringComparison.Ordinal);
            bool isRoot = name[..at].Equals(SettingsSource.Section, StringComparison.OrdinalIgnoreCase);
            bool isNear = NearName.Find(name[..at], [SettingsSource.Section]) is not null;
            if (isNear && !(isRoot && name[at..].StartsWith(Between, StringComparison.Ordinal))
                && Settings.Find(rest) is { } setting)
            {
                string path = setting.Key.Replace(":", Between, StringComparison.Ordinal);
                return $"{SettingsSource.Section.ToUpperInvariant()}{Between}{path}";
            }
        }

        return null;
    }
}
