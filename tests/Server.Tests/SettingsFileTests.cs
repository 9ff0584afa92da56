using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>Settings files as people write them: whole, misspelt, and broken.</summary>
public sealed class SettingsFileTests : IDisposable
{
    private readonly TempDirectory _directory = new();

    private string File => _directory["settings.json"];

    public static TheoryData<string> Sizes =>
        [.. Settings.All.Select(static one => one.Key).Where(static key => key.Contains("Bytes", StringComparison.Ordinal)
            || key == "Store:Memory")];

    public static TheoryData<string> Keys => [.. Settings.All.Select(static one => one.Key)];

    [Fact]
    public void GivenTheDocumentsWholeFile_WhenLoaded_ThenItHasEverySettingWithItsDefaultAndChangesNothing()
    {
        string json = DocumentFile.Read("docs/configuration.md").Block("appsettings").Text;
        ServerOptions options = Load(json);
        ServerOptions usual = Given.Settings();
        foreach (Setting setting in Settings.All)
        {
            Assert.Contains($"\"{setting.Key.Split(':')[^1]}\":", json, StringComparison.Ordinal);
            Assert.Equal(setting.Show(usual), setting.Show(options));
        }

        string document = System.IO.File.ReadAllText(Path.Combine(ProgramFiles.Root, "docs", "configuration.md"));
        Assert.True(
            document.IndexOf("```json", StringComparison.Ordinal) < document.IndexOf("\n## ", StringComparison.Ordinal),
            "the page begins with the file");
    }

    [Theory]
    [InlineData("""{ "Server": { "Listen": "127.0.0.1:1" } }""", "\"Server\"", "{ \"EQueue\": { \"Server\": ... } }")]
    [InlineData("""{ "EQeue": { "Topics": { "QueueCount": 9 } } }""", "\"EQeue\"", "Did you mean \"EQueue\"?")]
    [InlineData("""{ "EQueue": {}, "Seriolog": {} }""", "\"Seriolog\"", "Did you mean \"Serilog\"?")]
    [InlineData("""{ "Logging": { "LogLevel": { "Default": "Debug" } } }""", "\"Logging\"", "--config names the one")]
    [InlineData("""{ "AllowedHosts": "*" }""", "\"AllowedHosts\"", "allowed is \"EQueue\"")]
    public void GivenASectionThatNothingReads_WhenLoaded_ThenFileAndSectionAreNamed(
        string json, string section, string hint)
    {
        string message = Assert.Throws<ConfigurationException>(() => Load(json)).Message;
        Assert.StartsWith(File, message, StringComparison.Ordinal);
        Assert.Contains(section, message, StringComparison.Ordinal);
        Assert.Contains(hint, message, StringComparison.Ordinal);
    }

    [Fact]
    [Follows(" Put it there: ")]
    public void GivenASectionOutsideItsPlace_WhenPutWhereTheRefusalSays_ThenItIsRead()
    {
        const string Inner = """{ "Listen": "127.0.0.1:1" }""";
        string message = Assert.Throws<ConfigurationException>(() => Load($$"""{ "Server": {{Inner}} }""")).Message;
        string advised = message.Split(" Put it there: ")[1].TrimEnd('.').Replace("...", Inner, StringComparison.Ordinal);
        Assert.Equal("127.0.0.1:1", Load(advised).Broker.Listen);
    }

    [Theory]
    [InlineData("""{ "EQueue": { "Store": { "FlushPolicie": "sync" } } }""", "EQueue:Store:FlushPolicie", "Store:FlushPolicy")]
    [InlineData("""{ "EQueue": { "Listen": "127.0.0.1:1" } }""", "EQueue:Listen", "Server:Listen")]
    [InlineData("""{ "EQueue": { "Topic": { "QueueCount": 1 } } }""", "EQueue:Topic:QueueCount", "Topics:QueueCount")]
    public void GivenAMisspeltSetting_WhenLoaded_ThenTheNearOneIsNamed(string json, string wrong, string near)
    {
        string message = Assert.Throws<ConfigurationException>(() => Load(json)).Message;
        Assert.StartsWith($"{wrong} is not a setting", message, StringComparison.Ordinal);
        Assert.EndsWith($"Did you mean '{near}'?", message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("--flsh", "--flush")]
    [InlineData("--Topics:QueueCuont", "--Topics:QueueCount")]
    [InlineData("--check-conf", "--check-config")]
    public void GivenAMisspeltOption_WhenParsed_ThenTheNearOneIsNamed(string wrong, string near)
    {
        string message = Assert.Throws<ConfigurationException>(() => CommandLine.Parse([wrong, "1"])).Message;
        Assert.StartsWith($"{wrong} is not an option", message, StringComparison.Ordinal);
        Assert.EndsWith($"Did you mean '{near}'?", message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{\n  \"EQueue\": {\n    \"Topics\" { }\n  }\n}", "Line 3, column 14")]
    [InlineData("{\n  \"EQueue\": {\n", "Line 3, column 1")]
    [InlineData("{ no JSON", "Line 1, column 3")]
    public void GivenAFileThatIsNoJson_WhenLoaded_ThenFileLineAndColumnAreNamed(string json, string place)
    {
        string message = Assert.Throws<ConfigurationException>(() => Load(json)).Message;
        Assert.Contains(File, message, StringComparison.Ordinal);
        Assert.Contains(place + ": ", message, StringComparison.Ordinal);
        Assert.DoesNotContain("LineNumber", message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("""{ "WriteTo": [{ "Name": "Fiel", "Args": { "path": "x" } }] }""", "Serilog:WriteTo:0 is 'Fiel'", "'File'")]
    [InlineData("""{ "WriteTo": ["Consol"] }""", "Serilog:WriteTo:0 is 'Consol'", "'Console'")]
    [InlineData("""{ "WriteTo": [{ "Args": {} }] }""", "Serilog:WriteTo:0:Name is missing", "File")]
    [InlineData("""{ "WriteTo": [{ "Name": "File", "Args": { "pth": "x" } }] }""", "Serilog:WriteTo:0:Args:pth", "'path'")]
    [InlineData("""{ "WriteTo": [{ "Name": "File" }] }""", "Serilog:WriteTo:0:Args has nothing", "path")]
    [InlineData("""{ "AuditTo": [{ "Name": "Seq" }] }""", "Serilog:AuditTo:0 is 'Seq'", "File")]
    [InlineData("""{ "Enrich": ["WithMachine"] }""", "Serilog:Enrich:0 is 'WithMachine'", "FromLogContext")]
    [InlineData("""{ "Using": ["Serilog.Sinks.Nowhere"], "WriteTo": ["File"] }""", "'Serilog.Sinks.Nowhere'", "beside")]
    [InlineData("""{ "WritesTo": [] }""", "Serilog:WritesTo is not a setting", "'WriteTo'")]
    [InlineData("""{ "MinimumLevel": { "Overide": { "EQueue": "Debug" } } }""", "Serilog:MinimumLevel:Overide", "'Override'")]
    public void GivenALogSectionThatNamesWhatDoesNotExist_WhenLoaded_ThenItIsRefusedByName(
        string serilog, string wrong, string known)
    {
        string message = Assert.Throws<ConfigurationException>(() => Load($$"""{ "Serilog": {{serilog}} }""")).Message;
        Assert.Contains(wrong, message, StringComparison.Ordinal);
        Assert.Contains(known, message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("""{ "WriteTo": [{ "Name": "File", "Args": { "path": "x", "rollingInterval": "Day" } }] }""")]
    [InlineData("""{ "WriteTo": { "Mine": { "Name": "file", "Args": { "path": "x" } } }, "Enrich": ["FromLogContext"] }""")]
    [InlineData("""{ "Using": ["Serilog.Sinks.File"], "WriteTo": ["Console"], "Properties": { "Place": "here" } }""")]
    [InlineData("""{ "WriteTo": [{ "Name": "Logger", "Args": { "configureLogger": { "WriteTo": ["Console"] } } }] }""")]
    public void GivenALogSectionThatIsRight_WhenLoaded_ThenItIsTaken(string serilog) =>
        Load($$"""{ "Serilog": {{serilog}} }""");

    [Fact]
    [Follows("in the environment sets nothing: allowed is {meant}, with two underscores between parts.")]
    public async Task GivenAVariableWithAMisspeltRoot_WhenItIsNamedAsTheRefusalSays_ThenItSetsTheSetting()
    {
        ProgramResult refused = await CheckConfigAsync("EQUEUE_Topics__QueueCount");
        Assert.Equal(2, refused.ExitCode);
        string advised = refused.Error.Split("allowed is ")[1].Split(',')[0];
        ProgramResult taken = await CheckConfigAsync(advised);
        Assert.Equal(0, taken.ExitCode);
        Assert.Matches("QueueCount.*9", taken.OutputText);
    }

    [Theory]
    [InlineData("EQUEUE_Topics__QueueCount")]
    [InlineData("EQEUE__Topics__QueueCount")]
    [InlineData("QUEUE__Topics__QueueCount")]
    public void GivenAVariableWithAMisspeltRoot_WhenLoaded_ThenTheRightOneIsNamed(string name)
    {
        var variables = new Dictionary<string, string>(StringComparer.Ordinal) { [name] = "9" };
        string message = Assert.Throws<ConfigurationException>(() => SettingsRoots.CheckEnvironment(variables)).Message;
        Assert.StartsWith($"{name} in the environment", message, StringComparison.Ordinal);
        Assert.Contains("EQUEUE__Topics__QueueCount", message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("EQUEUE__Topics__QueueCount")]
    [InlineData("equeue__topics__queuecount")]
    [InlineData("EQUEUE_SERVER")]
    [InlineData("EQUEUE_WRITE_REFERENCE")]
    [InlineData("QUEUE__ConnectionString")]
    [InlineData("_")]
    [InlineData("PATH")]
    public void GivenAVariableThatIsRightOrNotOurs_WhenLoaded_ThenItIsLeftAlone(string name) =>
        SettingsRoots.CheckEnvironment(new Dictionary<string, string>(StringComparer.Ordinal) { [name] = "9" });

    [Theory]
    [MemberData(nameof(Sizes))]
    public void GivenASizeAsTheCommandLineTakesIt_WhenSet_ThenItIsTaken(string key)
    {
        Setting setting = Settings.Find(key)!;
        (string, string)[] roomy = key switch
        {
            "Limits:MaxMessageBytes" => [("Store:TailMemoryBytes", "1GiB")],
            "Store:MaxLogBytes" => [("Store:SegmentSizeBytes", "32MiB")],
            _ => [],
        };
        foreach ((string text, string bytes) in ((string, string)[])
            [("65536KiB", "67108864"), ("64MiB", "67108864"), ("64mib", "67108864"), ("67108864", "67108864")])
        {
            Assert.Equal(bytes, setting.Show(Given.Settings([(key, text), .. roomy])));
        }

        foreach (string wrong in (string[])["64MB", "64 MiB", "1.5GiB", "9999999999TiB", "-1KiB", "KiB"])
            Assert.Throws<ConfigurationException>(() => Given.Settings((key, wrong)));
    }

    [Fact]
    public void GivenSettingsThatDoNotFitTogether_WhenRead_ThenTheMessageBeginsWithTheSettingsWholeName()
    {
        ConfigurationException refused =
            Assert.Throws<ConfigurationException>(() => Given.Settings(("Store:MaxLogBytes", "1MiB")));
        Assert.StartsWith("Store:MaxLogBytes must be two segments or more", refused.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("Parameter", refused.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Keys))]
    public void GivenASetting_WhenWrittenForPeople_ThenItsReaderTakesThat(string key)
    {
        Setting setting = Settings.Find(key)!;
        ServerOptions usual = Given.Settings();
        Assert.Equal(setting.Show(usual), setting.Show(setting.Read(usual, setting.Write(usual))!));
    }

    [Theory]
    [InlineData(0, "0")]
    [InlineData(1023, "1023")]
    [InlineData(1 << 10, "1KiB")]
    [InlineData(4 << 20, "4MiB")]
    [InlineData((4 << 20) + 1, "4194305")]
    public void GivenASize_WhenWritten_ThenItIsExactInTheLargestUnit(long bytes, string text) =>
        Assert.Equal(text, SettingKinds.WriteSize(bytes));

    [Theory]
    [InlineData(0, "0s")]
    [InlineData(1, "1ms")]
    [InlineData(30_000, "30s")]
    [InlineData(90_000, "90s")]
    [InlineData(86_400_000, "1d")]
    public void GivenATime_WhenWritten_ThenItIsExactInTheLargestUnit(double milliseconds, string text) =>
        Assert.Equal(text, SettingKinds.WriteDuration(TimeSpan.FromMilliseconds(milliseconds)));

    public void Dispose() => _directory.Dispose();

    private ServerOptions Load(string json)
    {
        System.IO.File.WriteAllText(File, json);
        return SettingsSource.Read(SettingsSource.Load(CommandLine.Parse(["--config", File])));
    }

    private static async Task<ProgramResult> CheckConfigAsync(string variable)
    {
        var environment = new Dictionary<string, string>(StringComparer.Ordinal) { [variable] = "9" };
        await using var run = ProgramRun.Start("Server", ["--check-config"], environment: environment);
        return await run.FinishAsync();
    }
}
