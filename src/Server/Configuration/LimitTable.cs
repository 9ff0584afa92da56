using System.Text;

namespace EQueue.Server.Configuration;

/// <summary>The table of limits in docs/operating.md, made from the settings. A test compares the two.</summary>
internal static class LimitTable
{
    /// <summary>The line before the table.</summary>
    public const string Begin = "<!-- limits: made from the settings -->";

    /// <summary>The line behind it.</summary>
    public const string End = "<!-- end of limits -->";

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

    /// <summary>A page with its table written anew.</summary>
    /// <exception cref="FormatException">The lines around the table are not there.</exception>
    public static string Replace(string page)
    {
        int from = page.IndexOf(Begin, StringComparison.Ordinal);
        int to = page.IndexOf(End, StringComparison.Ordinal);
        if (from < 0 || to < from)
            throw new FormatException($"The page has no '{Begin}' before '{End}'.");
        return page[..from] + Write() + page[(to + End.Length)..];
    }
}
