using System.Globalization;
using System.Text;

namespace EQueue.Server.Configuration;

/// <summary>The tables of limits in docs/operating.md, made from the settings and from <see cref="FixedLimits"/>. A
/// test compares them.</summary>
internal static class LimitTable
{
    /// <summary>The line before the table.</summary>
    public const string Begin = "<!-- limits: made from the settings -->";

    /// <summary>The line behind it.</summary>
    public const string End = "<!-- end of limits -->";

    /// <summary>The line before the table of those that no setting changes.</summary>
    public const string BeginFixed = "<!-- fixed limits: made from FixedLimits.cs -->";

    /// <summary>The line behind it.</summary>
    public const string EndFixed = "<!-- end of fixed limits -->";

    /// <summary>The settings that are limits.</summary>
    public static IEnumerable<Setting> Limits => Settings.All.Where(static setting => setting.Unit is not null);

    /// <summary>The table, with the lines before and behind it.</summary>
    public static string Write()
    {
        var usual = new ServerOptions();
        var text = new StringBuilder();
        text.Append(Begin).Append("\n\n");
        text.Append("| setting | default | unit | what | at the limit |\n|---|---|---|---|---|\n");
        foreach (Setting limit in Limits)
        {
            string less = limit.FollowsMemory ? " or less" : "";
            text.Append($"| `{limit.Key}` | {limit.Write(usual)}{less} | {limit.Unit} | {limit.Meaning} "
                + $"| {limit.AtLimit} |\n");
        }

        return text.Append('\n').Append(End).ToString();
    }

    /// <summary>The table of the limits that no setting changes, with the lines before and behind it.</summary>
    public static string WriteFixed()
    {
        var text = new StringBuilder();
        text.Append(BeginFixed).Append("\n\n");
        text.Append("| at most | what | beyond it |\n|---|---|---|\n");
        foreach (FixedLimit limit in FixedLimits.All)
        {
            text.Append(
                CultureInfo.InvariantCulture, $"| {limit.Most:N0} | {limit.Meaning} | {limit.AtLimit} |\n");
        }

        return text.Append('\n').Append(EndFixed).ToString();
    }

    /// <summary>A page with its tables written anew.</summary>
    /// <exception cref="FormatException">The lines around the tables are not there.</exception>
    public static string Replace(string page) =>
        Replace(Replace(page, Begin, End, Write()), BeginFixed, EndFixed, WriteFixed());

    private static string Replace(string page, string begin, string end, string table)
    {
        int from = page.IndexOf(begin, StringComparison.Ordinal);
        int to = page.IndexOf(end, StringComparison.Ordinal);
        if (from < 0 || to < from)
            throw new FormatException($"The page has no '{begin}' before '{end}'.");
        return page[..from] + table + page[(to + end.Length)..];
    }
}
