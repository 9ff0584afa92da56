using System.Globalization;

namespace EQueue.Support;

/// <summary>How long a test takes: little in CI, much when a person asks for it.</summary>
public static class LongRun
{
    /// <summary>Name and value of the trait of tests that <c>./test.sh</c> leaves to <c>./test.sh --long</c>.</summary>
    public const string Trait = "Run";

    /// <inheritdoc cref="Trait"/>
    public const string Only = "Long";

    /// <summary>Whether all is asked for at length: <c>./test.sh --long</c>, or EQUEUE_LONG=1.</summary>
    public static bool IsAsked { get; } = Setting("EQUEUE_LONG", 0) != 0;

    /// <summary>The value of an environment variable; where there is none, that of CI or of a long run.</summary>
    /// <exception cref="FormatException">It is no whole number.</exception>
    public static int Length(string name, int quick, int full) => Setting(name, IsAsked ? full : quick);

    /// <summary>The value of an environment variable; what is normal where there is none.</summary>
    /// <exception cref="FormatException">It is no whole number: a long run must not become a short one
    /// unnoticed.</exception>
    public static int Setting(string name, int normal) =>
        Environment.GetEnvironmentVariable(name) is { Length: > 0 } text
            ? int.Parse(text, CultureInfo.InvariantCulture)
            : normal;
}
