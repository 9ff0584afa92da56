using System.Diagnostics;
using EQueue.Support;

namespace EQueue.Packages.Tests;

/// <summary>docs/getting-started.md is walked as a new user walks it, with everything it builds and runs.</summary>
public sealed class GettingStartedTests(PackedFeed feed)
{
    private static readonly DocumentFile Guide = DocumentFile.Read("docs/getting-started.md");

    [Fact]
    public void GivenTheGuide_WhenItsBlocksAreListed_ThenTestsRunEach()
    {
        // "pack" is run by PackedFeed, the others below.
        Assert.Equal(
            ["broker", "message", "pack", "coffee.csproj", "Program.cs", "run"], Guide.Blocks.Select(block => block.Name));
    }

    [Fact]
    public async Task GivenAClone_WhenTheBrokerAndThreeCommandsAreRun_ThenAMessageIsSentAndConsumed()
    {
        using var directory = new TempDirectory();
        // The command as it stands, with free ports and a folder of its own. It becomes the server: its pid is the server's.
        ProcessStartInfo start = Dotnet.Shell("exec " + Guide.Block("broker").Text.Trim(), ProgramFiles.Root);
        start.Environment["EQUEUE__Server__Listen"] = "127.0.0.1:0";
        start.Environment["EQUEUE__Server__AdminListen"] = "none";
        start.Environment["EQUEUE__Server__DataDirectory"] = directory["data"];
        start.RedirectStandardOutput = true;
        using Process broker = Process.Start(start)!;
        try
        {
            string? ready = await broker.StandardOutput.ReadLineAsync();
            Assert.StartsWith("ready data=", ready, StringComparison.Ordinal);
            string address = ready!.Split(' ')[1]["data=".Length..];
            foreach (TourStep step in Guide.Block("message").Steps)
            {
                string printed = await Dotnet.RunAsync(
                    step.Command,
                    ProgramFiles.Root,
                    new Dictionary<string, string>(StringComparer.Ordinal) { ["EQUEUE_SERVER"] = address });
                // The build says more before its last line: what it restored, that it succeeded.
                string[] lines = printed.Split('\n', StringSplitOptions.RemoveEmptyEntries);
                Assert.Equal(TourStep.Normalize(step.Output), TourStep.Normalize(lines.TakeLast(step.Output.Count)));
            }
        }
        finally
        {
            broker.Kill();
            await broker.WaitForExitAsync();
        }
    }

    [Fact]
    public async Task GivenThePackagesAlone_WhenTheGuidesApplicationIsBuiltOutsideTheRepository_ThenItSendsAndReceives()
    {
        using var directory = new TempDirectory();
        string coffee = Path.Combine(feed.Folder, "coffee");
        Directory.CreateDirectory(coffee);
        foreach (string file in (string[])["coffee.csproj", "Program.cs"])
            await File.WriteAllTextAsync(Path.Combine(coffee, file), Guide.Block(file).Text);
        TourStep run = Guide.Block("run").Steps.Single();
        // Packages come from the feed into an empty cache; what others wrote is taken from where restore has put it.
        string printed = await Dotnet.RunAsync(
            run.Command.Replace("../", feed.Folder + "/", StringComparison.Ordinal),
            directory.FullPath,
            new Dictionary<string, string>(StringComparer.Ordinal)
            {
                ["NUGET_PACKAGES"] = directory["packages"],
                ["RestoreFallbackFolders"] = await Dotnet.FindPackagesAsync(),
            });
        Assert.Equal(run.Output, printed.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        string[] taken = [.. Directory.EnumerateDirectories(directory["packages"]).Select(path => Path.GetFileName(path)!)];
        Assert.Equal(
            ["equeue.broker", "equeue.client", "equeue.messagestore", "equeue.protocol", "equeue.remoting"],
            taken.Where(name => name.StartsWith("equeue.", StringComparison.Ordinal)).Order(StringComparer.Ordinal));
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenThePackagesAlone_WhenTheGuidesApplicationIsCompiledToNativeCode_ThenNothingWarnsAndItDoesTheSame()
    {
        Assert.SkipUnless(
            OperatingSystem.IsLinux() && (ToolRun.IsInstalled("clang") || ToolRun.IsInstalled("gcc")),
            "native code is linked by clang or gcc");
        using var directory = new TempDirectory();
        string project = directory["native"];
        Directory.CreateDirectory(project);
        foreach (string file in (string[])["coffee.csproj", "Program.cs"])
        {
            string text = Guide.Block(file).Text.Replace("../", feed.Folder + "/", StringComparison.Ordinal);
            await File.WriteAllTextAsync(Path.Combine(project, file), text);
        }

        await Dotnet.RunAsync(
            $"dotnet publish '{project}' --use-current-runtime --output '{directory["out"]}' -p:PublishAot=true "
                + "-p:TrimmerSingleWarn=false -p:TreatWarningsAsErrors=true",
            directory.FullPath,
            new Dictionary<string, string>(StringComparer.Ordinal)
            {
                ["NUGET_PACKAGES"] = directory["packages"],
                ["RestoreFallbackFolders"] = await Dotnet.FindPackagesAsync(),
            });
        string printed = await Dotnet.RunAsync($"'{directory["out/coffee"]}'", directory.FullPath);
        Assert.Equal(Guide.Block("run").Steps.Single().Output, printed.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    [Fact]
    public void GivenTheReadmesOfThePackages_WhenComparedWithTheDocumentsThatAreRun_ThenTheirExamplesAreTheSame()
    {
        Assert.Equal(
            Guide.Block("Program.cs").Text, DocumentFile.Read("packaging/EQueue.Broker.md").Blocks.Single().Text);
        Assert.Equal(
            DocumentFile.Read("README.md").Block("example").Text,
            DocumentFile.Read("packaging/EQueue.Client.md").Blocks.Single().Text);
    }
}
