using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text.Json;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Data directories of released versions stand in <c>Versions/VERSION</c>: every later version opens them and
/// answers as their own did.</summary>
/// <remarks>EQUEUE_WRITE_VERSION=VERSION makes that of the present build, once: CONTRIBUTING.md.</remarks>
public sealed class VersionTests
{
    private const string Answers = "answers.txt";

    /// <summary>What is another one each time.</summary>
    private static readonly string[] Volatile = ["lagMs", "generation"];

    private static readonly string[] Settings =
    [
        "--Store:SegmentSizeBytes", "73728", "--Limits:MaxMessageBytes", "4096", "--Store:PackBytesPerSecond", "1073741824",
        "--Groups:OffsetRetention", "0s", "--Topics:RetentionAge", "0s", "--Topics:RetentionInterval", "200ms",
    ];

    [Fact]
    public async Task GivenTheDirectoriesOfVersions_WhenServersOpenThem_ThenEveryAnswerIsAsItWas()
    {
        string? written = Environment.GetEnvironmentVariable("EQUEUE_WRITE_VERSION");
        string[] versions =
            written is null ? VersionContent.Folders : [Path.Combine(SourceFolder(), written)];
        if (written is not null)
            await WriteAsync(versions[0]);
        Assert.NotEmpty(versions);
        foreach (string one in versions)
            await CheckAsync(one);
    }

    [Fact]
    public async Task GivenALaterFormat_WhenAServerOpensIt_ThenItEndsWithThreeNamesTheVersionsAndChangesNothing()
    {
        using var directory = new TempDirectory();
        VersionContent.Copy(VersionContent.Folders[0], directory["data"]);
        string store = Path.Combine(directory["data"], "store");
        byte[] bytes = await File.ReadAllBytesAsync(store);
        bytes[8] = 2;
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(bytes.Length - 4), Crc32C.Compute(bytes.AsSpan(..^4)));
        await File.WriteAllBytesAsync(store, bytes);
        string before = Describe(directory["data"]);

        ProgramResult refused = await ProgramRun.RunAsync(
            "Server", ["--data", directory["data"], "--listen", "127.0.0.1:0", "--admin", "none"]);
        Assert.Equal(3, refused.ExitCode);
        Assert.Contains("format version 2, this build reads version 1", refused.Error, StringComparison.Ordinal);
        Assert.Equal(before, Describe(directory["data"]));
    }

    private static string Describe(string folder) => string.Join('\n', Directory
        .GetFiles(folder, "*", SearchOption.AllDirectories).Where(path => Path.GetFileName(path) != "lock")
        .Order(StringComparer.Ordinal).Select(path => $"{path} {Crc32C.Compute(File.ReadAllBytes(path))}"));

    private static async Task CheckAsync(string folder)
    {
        using var directory = new TempDirectory();
        VersionContent.Copy(folder, directory["data"]);
        ProgramResult verified = await ProgramRun.RunAsync("Cli", "log", "verify", directory["data"]);
        Assert.True(verified.ExitCode == 0, verified.OutputText + verified.Error);
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], Settings);
        int answers = 0;
        foreach ((string command, string[] expected) in ReadAnswers(Path.Combine(folder, Answers)))
        {
            string[] actual = await AskAsync(server.Address, command);
            Assert.True(expected.Length == actual.Length, $"{command}: {expected.Length} lines, now {actual.Length}");
            for (int i = 0; i < expected.Length; i++)
                AssertHolds(Parse(expected[i]), Parse(actual[i]), command);
            answers += actual.Length;
        }

        Assert.True(answers > 90, $"{answers} lines of answers");
        ProgramResult sent = await ProgramRun.RunAsync("Cli", "send", "orders", "more", "--server", server.Address);
        Assert.True(sent.ExitCode == 0, sent.Error);
    }

    private static async Task WriteAsync(string folder)
    {
        Assert.False(Directory.Exists(folder), $"{folder} is there already and is never written again");
        using var directory = new TempDirectory();
        await using (ServerProcess server = await ServerProcess.StartAsync(directory["data"], Settings))
        {
            await VersionContent.FillAsync(server.Address, directory["data"]);
            Directory.CreateDirectory(folder);
            using StreamWriter answers = File.CreateText(Path.Combine(folder, Answers));
            foreach (string command in VersionContent.Questions)
            {
                await answers.WriteLineAsync($"$ {command}");
                foreach (string line in await AskAsync(server.Address, command))
                    await answers.WriteLineAsync(line);
            }

            await server.KillAsync();
        }

        VersionContent.CopyTrimmed(directory["data"], Path.Combine(folder, "data"));
    }

    private static async Task<string[]> AskAsync(string address, string command)
    {
        ProgramResult result = await ProgramRun.RunAsync(
            "Cli", [.. command.Split(' '), "--server", address, "--json"]);
        Assert.True(result.ExitCode == 0, $"{command}: {result.Error}");
        return [.. result.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries).Order(StringComparer.Ordinal)];
    }

    private static JsonElement Parse(string line) => JsonDocument.Parse(line).RootElement;

    private static IEnumerable<(string Command, string[] Lines)> ReadAnswers(string path)
    {
        string[] lines = File.ReadAllLines(path);
        for (int i = 0; i < lines.Length;)
        {
            int next = Array.FindIndex(lines, i + 1, line => line.StartsWith('$'));
            next = next < 0 ? lines.Length : next;
            yield return (lines[i][2..], lines[(i + 1)..next]);
            i = next;
        }
    }

    /// <summary>All that was said is said again; more may be.</summary>
    private static void AssertHolds(JsonElement expected, JsonElement actual, string place)
    {
        Assert.True(expected.ValueKind == actual.ValueKind, $"{place}: {expected} is {actual} now");
        if (expected.ValueKind == JsonValueKind.Object)
        {
            foreach (JsonProperty property in expected.EnumerateObject().Where(one => !Volatile.Contains(one.Name)))
            {
                Assert.True(actual.TryGetProperty(property.Name, out JsonElement value), $"{place}: {property.Name} is gone");
                AssertHolds(property.Value, value, $"{place} {property.Name}");
            }
        }
        else if (expected.ValueKind == JsonValueKind.Array)
        {
            Assert.Equal(expected.GetArrayLength(), actual.GetArrayLength());
            for (int i = 0; i < expected.GetArrayLength(); i++)
                AssertHolds(expected[i], actual[i], $"{place}[{i}]");
        }
        else
        {
            Assert.True(expected.ToString() == actual.ToString(), $"{place}: {expected} is {actual} now");
        }
    }

    private static string SourceFolder([CallerFilePath] string path = "") => Path.GetDirectoryName(path)!;
}
