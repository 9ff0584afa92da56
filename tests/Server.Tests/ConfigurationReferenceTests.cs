using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>docs/configuration.md is what the settings are; the environment's EQUEUE_WRITE_REFERENCE=1 has it written.
/// </summary>
public sealed class ConfigurationReferenceTests
{
    [Fact]
    public void GivenTheSettings_WhenWrittenAsAReference_ThenTheDocumentIsThat()
    {
        string path = Path.Combine(ProgramFiles.Root, "docs", "configuration.md");
        string reference = ConfigurationReference.Write();
        if (Environment.GetEnvironmentVariable("EQUEUE_WRITE_REFERENCE") == "1")
            File.WriteAllText(path, reference);
        Assert.Equal(reference, File.ReadAllText(path).ReplaceLineEndings("\n"));
    }

    [Fact]
    public void GivenTheReference_WhenRead_ThenEachSettingHasOneLineWithItsDefault()
    {
        string[] lines = ConfigurationReference.Write().Split('\n');
        foreach (Setting setting in Settings.All)
        {
            string line = Assert.Single(lines, one => one.StartsWith($"| `{setting.Key}`", StringComparison.Ordinal));
            Assert.Contains($"| {setting.Write(new ServerOptions())} |", line, StringComparison.Ordinal);
            Assert.EndsWith($"| {setting.Meaning} |", line, StringComparison.Ordinal);
            Assert.Equal(6, line.Count(character => character == '|'));
        }
    }
}
