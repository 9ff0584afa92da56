namespace EQueue.Tidy.Tests;

/// <summary>Each rule can fail: it finds what is planted and lets its neighbour pass.</summary>
public sealed class PlantedTests
{
    [Theory]
    [InlineData("banned-word", "src/Broker/TopicManager.cs", "class Topics;")]
    [InlineData("banned-word", "src/Broker/A.cs", "internal sealed class ConnectionHelper { }")]
    [InlineData("banned-word", "src/Broker/A.cs", "internal readonly record struct QueueInfo(int A);")]
    [InlineData("banned-word", "src/Broker/A.cs", "enum DefaultLevel { }")]
    [InlineData("banned-word", "src/Broker/A.cs", "class TopicData { }")]
    [InlineData("banned-word", "tests/X.Tests/TestUtils.cs", "")]
    [InlineData("region", "tests/X.Tests/A.cs", "  #region Private")]
    [InlineData("clock", "src/Broker/A.cs", "var t = DateTime.UtcNow;")]
    [InlineData("clock", "src/Broker/A.cs", "var t = DateTimeOffset.Now;")]
    [InlineData("console", "src/MessageStore/A.cs", "Console.WriteLine();")]
    [InlineData("serilog", "src/Broker/A.cs", "using Serilog;")]
    [InlineData("serilog", "src/Server/Hosting.cs", "using Serilog;")]
    [InlineData("open-end", "docs/a.md", "TO" + "DO: more")]
    [InlineData("open-end", "src/Broker/A.cs", "// FIX" + "ME later")]
    [InlineData("stub", "src/Broker/A.cs", "throw new NotImplementedException();")]
    [InlineData("async-void", "src/Broker/A.cs", "private async void Run() { }")]
    [InlineData("sleep", "tests/X.Tests/A.cs", "await Task.Delay(100);")]
    [InlineData("sleep", "tests/X.Tests/A.cs", "Thread.Sleep(1);")]
    [InlineData("machine-path", "docs/a.md", "cd /" + "work/main")]
    [InlineData("machine-path", "build.sh", "HOME=/" + "root/x")]
    [InlineData("machine-path", "NuGet.Config", "<configuration/>")]
    [InlineData("body-on-its-line", "src/Broker/A.cs", "if (Count(a) > 0) return;")]
    [InlineData("body-on-its-line", "tests/X.Tests/A.cs", "    foreach (int one in all) Sum(one);")]
    [InlineData("body-on-its-line", "src/Broker/A.cs", "else Sum(one);")]
    [InlineData("braces", "src/Broker/A.cs", "if (Count(a) > 0)\n{\n    return;\n}\n")]
    [InlineData("braces", "perf/Load/A.cs", "  lock (_gate)\n  {\n    Sum(one);\n  }\n")]
    public void GivenAPlantedFault_WhenItsRuleLooks_ThenItIsFound(string rule, string path, string text)
        => Assert.Contains(Rules.All[rule](new SourceFile(path, text)), found => found.Rule == rule && found.Line == 1);

    [Theory]
    [InlineData("banned-word", "src/Broker/A.cs", "class Database; class Information; class Metadata; class Dataset;")]
    [InlineData("region", "src/Broker/A.cs", "// #region in a comment")]
    [InlineData("clock", "src/Broker/A.cs", "var t = time.GetUtcNow(); // not DateTime.UtcNow")]
    [InlineData("console", "src/Cli/A.cs", "Console.WriteLine();")]
    [InlineData("console", "src/Broker/A.cs", "Log(\"Console.WriteLine\");")]
    [InlineData("serilog", "src/Server/Program.cs", "using Serilog;")]
    [InlineData("stub", "src/Broker/A.cs", "/* NotImplementedException */")]
    [InlineData("sleep", "tests/Support/Eventually.cs", "await Task.Delay(10);")]
    [InlineData("machine-path", "README.md", "./run.sh --data /var/lib/equeue; src/work/x")]
    [InlineData("body-on-its-line", "src/Broker/A.cs", "if (a)\n    return;\nelse if (b)\n    while (Next());\n")]
    [InlineData("braces", "src/Broker/A.cs", "if (a)\n{\n    return;\n}\nelse\n{\n    Sum();\n    Sum();\n}\n")]
    [InlineData("braces", "src/Broker/A.cs", "if (a)\n{\n    if (b)\n        return;\n}\n")]
    public void GivenWhatOnlyLooksAlike_WhenARuleLooks_ThenItPasses(string rule, string path, string text)
        => Assert.Empty(Rules.All[rule](new SourceFile(path, text)));

    [Theory]
    [InlineData(Rules.MostLinesOfAFile, 0)]
    [InlineData(Rules.MostLinesOfAFile + 1, 1)]
    public void GivenALongFile_WhenItsLinesAreCounted_ThenTheLimitHoldsExactly(int lines, int expected)
        => Assert.Equal(expected, Count("file-length", string.Concat(Enumerable.Repeat("\n", lines))));

    [Theory]
    [InlineData(Rules.MostColumns, 0)]
    [InlineData(Rules.MostColumns + 1, 1)]
    public void GivenALongLine_WhenItsColumnsAreCounted_ThenTheLimitHoldsExactly(int columns, int expected)
        => Assert.Equal(expected, Count("line-length", new string('a', columns)));

    [Theory]
    [InlineData(Rules.MostLinesOfAFunction, 0)]
    [InlineData(Rules.MostLinesOfAFunction + 1, 1)]
    public void GivenALongFunction_WhenItsLinesAreCounted_ThenTheLimitHoldsExactly(int lines, int expected)
    {
        string body = string.Concat(Enumerable.Repeat("if (a) { Call(\"}\"); }\n", lines - 2));
        string text = $"namespace N;\nclass C\n{{\n int[] Table = new() {{ 1 }};\n void Run<T>(int a = 1)\n{{\n{body}}}\n}}\n";
        Assert.Equal(expected, Count("function-length", text));
    }

    [Theory]
    [InlineData("src/Protocol/Protocol.csproj", "<ProjectReference Include=\"../Broker/Broker.csproj\" />")]
    [InlineData("src/Client/Client.csproj", "<ProjectReference Include=\"..\\MessageStore\\MessageStore.csproj\" />")]
    [InlineData("src/Broker/Broker.csproj", "<ProjectReference Include=\"../Client/Client.csproj\" />")]
    [InlineData("src/Broker/Broker.csproj", "<PackageReference Include=\"Serilog\" />")]
    [InlineData("src/Attic/Attic.csproj", "")]
    public void GivenAnArrowThatPointsUp_WhenProjectsAreRead_ThenItIsFound(string path, string item)
        => Assert.Single(Arrows.Check([new SourceFile(path, $"<Project><ItemGroup>{item}</ItemGroup></Project>")]));

    [Theory]
    [InlineData("src/Server/Server.csproj", "<ProjectReference Include=\"../Broker/Broker.csproj\" />")]
    [InlineData("tests/A.Tests/A.Tests.csproj", "<ProjectReference Include=\"../../src/Broker/Broker.csproj\" />")]
    public void GivenAnArrowThatPointsDown_WhenProjectsAreRead_ThenItPasses(string path, string item)
        => Assert.Empty(Arrows.Check([new SourceFile(path, $"<Project><ItemGroup>{item}</ItemGroup></Project>")]));

    [Theory]
    [InlineData("src/Broker/Log.cs", "[LoggerMessage(2001, LogLevel.Debug, \"x\")]", 1)]
    [InlineData("src/Broker/Log.cs", "[LoggerMessage(EventId = 3001)] [LoggerMessage(EventId = 3001)]", 1)]
    [InlineData("src/Broker/Log.cs", "[LoggerMessage(LogLevel.Debug, \"x\")]", 1)]
    [InlineData("src/Broker/Other.cs", "[LoggerMessage(3001, LogLevel.Debug, \"x\")]", 1)]
    [InlineData("src/Broker/Log.cs", "[LoggerMessage(3001, LogLevel.Debug)] [LoggerMessage(EventId = 3002)]", 0)]
    public void GivenLogMessages_WhenTheirIdsAreRead_ThenWrongOnesAreFound(string path, string text, int expected)
        => Assert.Equal(expected, LogIds.Check([new SourceFile(path, text)]).Count());

    [Theory]
    [InlineData("src/MessageStore/Upkeep/A.cs", "disk.Delete(path);", 1)]
    [InlineData("src/MessageStore/QueueStore.A.cs", "using var one = new SnapshotWriter(disk, path);", 1)]
    [InlineData("src/MessageStore/Log/SegmentWriter.cs", "class A { }", 1)]
    [InlineData("src/MessageStore/Upkeep/A.cs", "if (log.TryMakeStateCommitted(LogCleaner.CommitWait)) disk.Delete(path);", 0)]
    [InlineData("src/MessageStore/Replicas/A.cs", "disk.Delete(path);", 0)]
    public void GivenAFileThatGoes_WhenNothingWaitsForTheGate_ThenItIsFound(string path, string text, int expected)
        => Assert.Equal(expected, Gates.Check([new SourceFile(path, text)]).Count());

    [Theory]
    [InlineData("clock | src/A.cs")]
    [InlineData("clock | src/A.cs | ")]
    public void GivenAnExceptionWithoutAReason_WhenRead_ThenItIsRefused(string line)
        => Assert.Throws<FormatException>(() => Exceptions.Parse(line));

    [Fact]
    public void GivenAnException_WhenItsRuleBreaksInItsFile_ThenOnlyThatIsCovered()
    {
        var exceptions = Exceptions.Parse("# why\nclock | src/A.cs | the seam itself\n");
        Assert.True(exceptions.Covers(new Violation("clock", "src/A.cs", 3, "")));
        Assert.False(exceptions.Covers(new Violation("clock", "src/B.cs", 3, "")));
        Assert.False(exceptions.Covers(new Violation("region", "src/A.cs", 3, "")));
    }

    private static int Count(string rule, string text) => Rules.All[rule](new SourceFile("src/Broker/A.cs", text)).Count();
}
