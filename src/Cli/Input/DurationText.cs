using System.CommandLine.Parsing;
using System.Globalization;

namespace EQueue.Cli.Input;

/// <summary>Reads durations as people write them: <c>500ms</c>, <c>30s</c>, <c>5m</c>, <c>2h</c>, <c>7d</c>.</summary>
internal static class DurationText
{
    private static readonly (string Suffix, double Milliseconds)[] Units =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

    /// <summary>The longest duration that timers take, in days.</summary>
    private const int MostDays = 20;

    /// <param name="text">As it was written.</param>
    /// <param name="mostDays">The longest that is taken.</param>
    public static TimeSpan? TryRead(string text, int mostDays = MostDays)
    {
        foreach ((string suffix, double milliseconds) in Units)
        {
            if (!text.EndsWith(suffix, StringComparison.Ordinal))
                continue;
            ReadOnlySpan<char> digits = text.AsSpan(0, text.Length - suffix.Length);
            if (!double.TryParse(digits, NumberStyles.AllowDecimalPoint, null, out double count))
                continue;
            double total = count * milliseconds;
            return total >= 1 && total <= TimeSpan.FromDays(mostDays).TotalMilliseconds
                ? TimeSpan.FromMilliseconds(total) : null;
        }

        return null;
    }

    /// <summary>A duration as it would be typed: <c>30s</c>, in the largest unit that leaves nothing over.</summary>
    public static string Of(TimeSpan duration)
    {
        (string suffix, double milliseconds) = Units.Last(
            unit => unit.Milliseconds == 1
                || (duration >= TimeSpan.FromMilliseconds(unit.Milliseconds)
                    && duration.TotalMilliseconds % unit.Milliseconds == 0));
        return string.Create(
            CultureInfo.InvariantCulture, $"{duration.TotalMilliseconds / milliseconds:0.###}{suffix}");
    }

    /// <summary>For an option's parser.</summary>
    public static TimeSpan Parse(ArgumentResult result) => Parse(result, MostDays);

    /// <summary>For an option's parser.</summary>
    /// <param name="result">What was written.</param>
    /// <param name="mostDays">The longest that is taken.</param>
    public static TimeSpan Parse(ArgumentResult result, int mostDays)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text, mostDays) is { } value)
            return value;
        result.AddError($"'{text}' is no duration: write 500ms, 30s, 5m, 2h or 7d; 1ms to {mostDays}d.");
        return default;
    }
}
