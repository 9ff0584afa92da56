using System.Globalization;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>Settings of a kind that comes again and again.</summary>
internal static class SettingKinds
{
    private const string NoFile = "none";

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
            $"{least} to {most}, written like 100ms, 10s, 5m, 2h, 7d or hh:mm:ss",
            (options, text) => TryReadDuration(text, out TimeSpan value) && value >= least && value <= most
                ? set(options, value) : null,
            options => get(options).ToString());

    /// <summary>Yes or no.</summary>
    public static Setting Flag(
        string key, string meaning, Func<ServerOptions, bool, ServerOptions> set, Func<ServerOptions, bool> get)
        => new(
            key,
            meaning,
            "true or false",
            (options, text) => bool.TryParse(text, out bool on) ? set(options, on) : null,
            options => get(options) ? "true" : "false");

    /// <summary>Reads <c>500ms</c>, <c>10s</c>, <c>5m</c>, <c>2h</c>, <c>7d</c> or <c>[d.]hh:mm:ss[.fff]</c>.</summary>
    public static bool TryReadDuration(string text, out TimeSpan value)
    {
        (string suffix, double milliseconds)[] units =
            [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
        foreach ((string suffix, double milliseconds) in units)
        {
            if (!text.EndsWith(suffix, StringComparison.Ordinal)) continue;
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
