using System.Globalization;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>Settings of a kind that comes again and again.</summary>
internal static class SettingKinds
{
    /// <summary>How sizes may be written, to put behind their range.</summary>
    public const string SizeForms = ", written like 4096, 512KiB, 10MiB, 2GiB or 1TiB";

    private const string NoFile = "none";

    private static readonly (string Suffix, long Bytes)[] SizeUnits =
        [("TiB", 1L << 40), ("GiB", 1L << 30), ("MiB", 1L << 20), ("KiB", 1L << 10), ("", 1)];

    private static readonly (string Suffix, double Milliseconds)[] TimeUnits =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

    /// <summary>A file of TLS.</summary>
    public static Setting PathOf(
        string key,
        string meaning,
        Func<ServerTlsOptions, string, ServerTlsOptions> set,
        Func<ServerTlsOptions, string?> get)
        => new(
            key,
            meaning,
            "the path of a file, or none",
            (options, text) => text == NoFile ? options : options.WithTls(tls => set(tls, Path.GetFullPath(text))),
            options => (options.Broker.Tls is { } tls ? get(tls) : null) ?? NoFile);

    /// <summary>A whole number.</summary>
    public static Setting Number(
        string key,
        string meaning,
        long least,
        long most,
        Func<ServerOptions, long, ServerOptions> set,
        Func<ServerOptions, long> get)
        => new(
            key,
            meaning,
            least == most ? $"{least}" : most == long.MaxValue ? $"{least} or more" : $"{least} to {most}",
            (options, text) => long.TryParse(text, NumberStyles.None, null, out long value)
                && value >= least && value <= most ? set(options, value) : null,
            options => get(options).ToString(CultureInfo.InvariantCulture));

    /// <summary>A number of bytes, or of bytes a second.</summary>
    public static Setting Size(
        string key,
        string meaning,
        long least,
        long most,
        Func<ServerOptions, long, ServerOptions> set,
        Func<ServerOptions, long> get)
        => new(
            key,
            meaning,
            (most == long.MaxValue ? $"{WriteSize(least)} or more" : $"{WriteSize(least)} to {WriteSize(most)}")
                + SizeForms,
            (options, text) => TryReadSize(text, out long value)
                && value >= least && value <= most ? set(options, value) : null,
            options => get(options).ToString(CultureInfo.InvariantCulture))
        {
            Write = options => WriteSize(get(options)),
        };

    /// <summary>A time span.</summary>
    public static Setting Duration(
        string key,
        string meaning,
        TimeSpan least,
        TimeSpan most,
        Func<ServerOptions, TimeSpan, ServerOptions> set,
        Func<ServerOptions, TimeSpan> get)
        => new(
            key,
            meaning,
            $"{WriteDuration(least)} to {WriteDuration(most)}, written like 100ms, 10s, 5m, 2h, 7d or hh:mm:ss",
            (options, text) => TryReadDuration(text, out TimeSpan value) && value >= least && value <= most
                ? set(options, value) : null,
            options => get(options).ToString())
        {
            Write = options => WriteDuration(get(options)),
        };

    /// <summary>Yes or no.</summary>
    public static Setting Flag(
        string key, string meaning, Func<ServerOptions, bool, ServerOptions> set, Func<ServerOptions, bool> get)
        => new(
            key,
            meaning,
            "true or false",
            (options, text) => bool.TryParse(text, out bool on) ? set(options, on) : null,
            options => get(options) ? "true" : "false");

    /// <summary>Reads <c>4096</c>, <c>512KiB</c>, <c>10MiB</c>, <c>2GiB</c> or <c>1TiB</c>.</summary>
    public static bool TryReadSize(string text, out long value)
    {
        (string suffix, long bytes) = SizeUnits.First(
            unit => text.EndsWith(unit.Suffix, StringComparison.OrdinalIgnoreCase));
        bool isNumber = long.TryParse(
            text.AsSpan(0, text.Length - suffix.Length),
            NumberStyles.None,
            CultureInfo.InvariantCulture,
            out long count);
        bool isSize = isNumber && count <= long.MaxValue / bytes;
        value = isSize ? count * bytes : 0;
        return isSize;
    }

    /// <summary>A size in the largest unit of which it is a whole number.</summary>
    public static string WriteSize(long bytes)
    {
        (string suffix, long unit) = SizeUnits.First(one => bytes != 0 ? bytes % one.Bytes == 0 : one.Bytes == 1);
        return $"{bytes / unit}{suffix}";
    }

    /// <summary>A time span in the largest unit of which it is a whole number.</summary>
    public static string WriteDuration(TimeSpan span)
    {
        double total = span.TotalMilliseconds;
        (string suffix, double unit) = TimeUnits.Reverse()
            .FirstOrDefault(one => total != 0 ? total % one.Milliseconds == 0 : one.Milliseconds == 1_000);
        return suffix is null ? span.ToString() : $"{total / unit}{suffix}";
    }

    /// <summary>Reads <c>500ms</c>, <c>10s</c>, <c>5m</c>, <c>2h</c>, <c>7d</c> or <c>[d.]hh:mm:ss[.fff]</c>.</summary>
    public static bool TryReadDuration(string text, out TimeSpan value)
    {
        foreach ((string suffix, double milliseconds) in TimeUnits)
        {
            if (!text.EndsWith(suffix, StringComparison.Ordinal))
                continue;
            if (!double.TryParse(
                text.AsSpan(0, text.Length - suffix.Length), NumberStyles.AllowDecimalPoint, null, out double count))
            {
                continue;
            }

            double total = count * milliseconds;
            value = total < TimeSpan.MaxValue.TotalMilliseconds ? TimeSpan.FromMilliseconds(total) : TimeSpan.MaxValue;
            return true;
        }

        value = default;
        return text.Contains(':', StringComparison.Ordinal) && TimeSpan.TryParse(text, null, out value);
    }
}
