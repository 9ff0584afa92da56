namespace EQueue.Remoting.Tests;

public sealed class ReadmeTests
{
    [Fact]
    public async Task GivenReadmeExample_WhenRun_ThenItDoesWhatItSays() =>
        Assert.Equal("HELLO", await ReadmeExample.RunAsync());

    [Theory]
    [InlineData("example")]
    [InlineData("handler")]
    public void GivenReadme_WhenComparedWithTheCompiledExample_ThenItIsTheSameText(string part)
    {
        string source = File.ReadAllText(Path.Combine(Root(), "tests", "Remoting.Tests", "ReadmeExample.cs"));
        string readme = File.ReadAllText(Path.Combine(Root(), "src", "Remoting", "README.md"));
        int start = source.IndexOf($"// {part} begins", StringComparison.Ordinal);
        int end = source.IndexOf($"// {part} ends", StringComparison.Ordinal);
        string[] lines = source[source.IndexOf('\n', start)..end].Split('\n', StringSplitOptions.RemoveEmptyEntries)[..^1];
        int indent = lines[0].Length - lines[0].TrimStart().Length;
        string expected = string.Join('\n', lines.Select(line => line.Length > indent ? line[indent..] : ""));
        Assert.Contains($"```csharp\n{expected}\n```", readme, StringComparison.Ordinal);
        Assert.InRange(lines.Length, 5, 15);
    }

    private static string Root()
    {
        string folder = AppContext.BaseDirectory;
        while (!File.Exists(Path.Combine(folder, "EQueue.sln")))
            folder = Path.GetDirectoryName(folder) ?? throw new InvalidOperationException("EQueue.sln is nowhere above.");
        return folder;
    }
}
