using System.Globalization;

namespace EQueue.Support;

/// <summary>How long a test takes: little in CI, much when a person asks for it.</summary>
public static class LongRun
{
    /// <summary>The value of an environment variable; what is normal where there is none.</summary>
    /// <exception cref="FormatException">It is no whole number: a long run must not become a short one
    /// unnoticed.</exception>
    public static int Setting(string name, int normal) =>
        Environment.GetEnvironmentVariable(name) is { Length: > 0 } text
            ? int.Parse(text, CultureInfo.InvariantCulture)
            : normal;
}
