using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace EQueue.Server.Configuration;

/// <summary>docs/configuration.md: every setting as the code has it. A test compares the two.</summary>
internal static class ConfigurationReference
{
    private const string Head = """
        # Configuration

        A whole `appsettings.json`, with the value of each setting that holds when you leave it out. Give it with
        `--config FILE`, or put it into the directory where you start the server; keep what you change and leave the
        rest out.

        """;

    private const string LogSettings = """
          "Serilog": {
            "MinimumLevel": {
              "Default": "Information",
              "Override": { "Microsoft": "Warning" }
            }
          }
        }
        """;

    private const string Explanation = """
        `equeue-server --check-config` checks the file and prints what is in force. A value that is not allowed, a name
        that does not exist, and a section beside `EQueue` and `Serilog` end the start with exit code 2 and a message
        that names the place, the value and what is allowed. Comments (`//`) and commas behind the last value are
        allowed. [operating.md](operating.md#settings) says where else settings are taken from, and how the log is
        written to files.

        This page is made from the settings themselves; `EQUEUE_WRITE_REFERENCE=1` and the test
        `*ConfigurationReferenceTests` write it anew. *While running*: a change in the file takes effect within a second
        or two; the others at the next start, which the log says.

        """;

    private static readonly JsonSerializerOptions Indented = new()
    {
        WriteIndented = true,
        NewLine = "\n",
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
    };

    private static readonly Dictionary<string, string> Flags = new(StringComparer.Ordinal)
    {
        ["Server:Listen"] = "--listen",
        ["Server:AdminListen"] = "--admin",
        ["Server:DataDirectory"] = "--data",
        ["Store:FlushPolicy"] = "--flush",
    };

    public static string Write()
    {
        var usual = new ServerOptions();
        var text = new StringBuilder(Head);
        text.Append("\n<!-- appsettings -->\n```json\n").Append(WriteFile(usual)).Append("\n```\n\n");
        text.Append(Explanation);
        foreach (IGrouping<string, Setting> section in Settings.All.GroupBy(static one => one.Key.Split(':')[0]))
        {
            text.Append($"\n## {section.Key}\n\n");
            text.Append("| setting | default | allowed | while running | meaning |\n|---|---|---|---|---|\n");
            foreach (Setting setting in section)
                text.Append(WriteLine(setting, usual));
        }

        return text.ToString();
    }

    /// <summary>A file that says what holds without it.</summary>
    private static string WriteFile(ServerOptions usual)
    {
        var root = new JsonObject();
        foreach (Setting setting in Settings.All)
        {
            string[] path = setting.Key.Split(':');
            JsonObject section = root;
            foreach (string part in path[..^1])
                section = (section[part] ??= new JsonObject()).AsObject();
            string text = setting.Write(usual);
            section[path[^1]] = long.TryParse(text, NumberStyles.None, null, out long number) ? number
                : bool.TryParse(text, out bool flag) ? flag : text;
        }

        string settings = root.ToJsonString(Indented).Replace("\n", "\n  ", StringComparison.Ordinal);
        return $"{{\n  \"{SettingsSource.Section}\": {settings},\n{LogSettings}";
    }

    private static string WriteLine(Setting setting, ServerOptions usual)
    {
        string flag = Flags.TryGetValue(setting.Key, out string? name) ? $", `{name}`" : "";
        return $"| `{setting.Key}`{flag} | {setting.Write(usual)} | {setting.Allowed} | "
            + $"{(setting.IsReloadable ? "yes" : "")} | {setting.Meaning} |\n";
    }
}
