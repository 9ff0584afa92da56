namespace EQueue.MessageStore.Tests;

public sealed class ReadmeTests : StoreTest
{
    [Fact]
    public async Task GivenReadmeExample_WhenRun_ThenItDoesWhatItSays() =>
        Assert.Equal("hello", await ReadmeExample.RunAsync(Folder, State));

    [Fact]
    public void GivenReadme_WhenComparedWithTheCompiledExample_ThenItIsTheSameText()
    {
        string source = File.ReadAllText(Path.Combine(Root(), "tests", "MessageStore.Tests", "ReadmeExample.cs"));
        string readme = File.ReadAllText(Path.Combine(Root(), "src", "MessageStore", "README.md"));
        int start = source.IndexOf("// example begins", StringComparison.Ordinal);
        int end = source.IndexOf("// example ends", StringComparison.Ordinal);
        string[] lines = source[source.IndexOf('\n', start)..end].Split('\n')[1..^1];
        string expected = string.Join('\n', lines.Select(line => line.Length > 8 ? line[8..] : ""));
        Assert.Contains($"```csharp\n{expected}\n```", readme, StringComparison.Ordinal);
        Assert.InRange(lines.Count(line => line.Length > 0), 5, 15);
    }

    private static string Root()
    {
        string folder = AppContext.BaseDirectory;
        while (!File.Exists(Path.Combine(folder, "EQueue.sln")))
        {
            folder = Path.GetDirectoryName(folder)
                ?? throw new InvalidOperationException("EQueue.sln is nowhere above.");
        }
        return folder;
    }
}
