using System.Globalization;

namespace EQueue.Client;

/// <summary>Sizes and times for people at a terminal; everywhere else, and in JSON, they are exact.</summary>
internal static class HumanText
{
    private static readonly (string Unit, double Bytes)[] Sizes =
        [("TiB", 1L << 40), ("GiB", 1L << 30), ("MiB", 1L << 20), ("KiB", 1L << 10), ("B", 1)];

    private static readonly (string Unit, double Milliseconds)[] Times =
        [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

    /// <summary><c>4 MiB</c>, <c>1.5 GiB</c>, <c>134 B</c>.</summary>
    public static string Size(long bytes) => Of(bytes, Sizes);

    /// <summary><c>7 d</c>, <c>18 min</c>, <c>812 ms</c>.</summary>
    public static string Time(TimeSpan time) => Of(time.TotalMilliseconds, Times);

    /// <summary>Whole units where nothing is left over, else of a unit at least two, with a digit behind the point
    /// below ten.</summary>
    private static string Of(double value, (string Unit, double One)[] units)
    {
        (string unit, double one) = units.FirstOrDefault(
            candidate => value >= 2 * candidate.One || (value > 0 && value % candidate.One == 0), units[^1]);
        double count = value / one;
        return string.Create(
            CultureInfo.InvariantCulture, $"{Math.Round(count, count < 10 ? 1 : 0, MidpointRounding.ToZero)} {unit}");
    }
}
