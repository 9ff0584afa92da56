using System.Text;

namespace EQueue.Server.Configuration;

/// <summary>docs/configuration.md: every setting as the code has it. A test compares the two.</summary>
internal static class ConfigurationReference
{
    private const string Head = """
        # Configuration

        Made from the settings themselves; `EQUEUE_WRITE_REFERENCE=1` and the test `*ConfigurationReferenceTests` write
        it anew. [operating.md](operating.md#settings) says where settings are taken from and explains what needs more
        words. A value that is not allowed, and a key that does not exist, end the start with exit code 2 and a message
        that names the setting, the value and what is allowed.

        *While running*: a change in `appsettings.json` takes effect within a second or two; the others at the next
        start, which the log says.

        """;

    private static readonly Dictionary<string, string> Flags = new(StringComparer.Ordinal)
    {
        ["Server:Listen"] = "--listen",
        ["Server:AdminListen"] = "--admin",
        ["Server:DataDirectory"] = "--data",
        ["Store:FlushPolicy"] = "--flush",
    };

    public static string Write()
    {
        var text = new StringBuilder(Head);
        var usual = new ServerOptions();
        foreach (IGrouping<string, Setting> section in Settings.All.GroupBy(static one => one.Key.Split(':')[0]))
        {
            text.Append($"\n## {section.Key}\n\n");
            text.Append("| setting | default | allowed | while running | meaning |\n|---|---|---|---|---|\n");
            foreach (Setting setting in section)
                text.Append(WriteLine(setting, usual));
        }

        return text.ToString();
    }

    private static string WriteLine(Setting setting, ServerOptions usual)
    {
        string flag = Flags.TryGetValue(setting.Key, out string? name) ? $", `{name}`" : "";
        return $"| `{setting.Key}`{flag} | {setting.Show(usual)} | {setting.Allowed} | "
            + $"{(setting.IsReloadable ? "yes" : "")} | {setting.Meaning} |\n";
    }
}
