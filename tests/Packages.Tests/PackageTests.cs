using System.Text;
using EQueue.Support;

[assembly: CollectionBehavior(DisableTestParallelization = true)]
[assembly: AssemblyFixture(typeof(EQueue.Packages.Tests.PackedFeed))]

namespace EQueue.Packages.Tests;

/// <summary>What is in the packages.</summary>
public sealed class PackageTests(PackedFeed feed)
{
    private static readonly string[] Ids =
        ["EQueue.Broker", "EQueue.Cli", "EQueue.Client", "EQueue.MessageStore", "EQueue.Protocol", "EQueue.Remoting"];

    [Fact]
    public void GivenTheRepository_WhenPacked_ThenThereAreSixPackagesWithTheirSymbolsAndNoOther()
    {
        string[] names = [.. feed.Files.Select(file => Path.GetFileName(file).Split(".3.")[0] + Path.GetExtension(file))];
        Assert.Equal(Ids.SelectMany(id => (string[])[id + ".nupkg", id + ".snupkg"]), names);
    }

    [Theory]
    [InlineData("EQueue.Broker", "lib/net10.0/")]
    [InlineData("EQueue.Client", "lib/net10.0/")]
    [InlineData("EQueue.MessageStore", "lib/net10.0/")]
    [InlineData("EQueue.Protocol", "lib/net10.0/")]
    [InlineData("EQueue.Remoting", "lib/net10.0/")]
    [InlineData("EQueue.Cli", "tools/net10.0/any/")]
    public void GivenAPackage_WhenOpened_ThenItHasReadmeLicenceDocumentationAndSymbolsAndNamesNoPlace(
        string id, string folder)
    {
        IReadOnlyDictionary<string, byte[]> entries = feed.Read(id, ".nupkg");
        Assert.Contains(folder + id + ".dll", entries.Keys);
        Assert.Contains("LICENSE", entries.Keys);
        if (id != "EQueue.Cli")
            Assert.Contains("<summary>", Text(entries[$"{folder}{id}.xml"]), StringComparison.Ordinal);
        string readme = Text(entries["README.md"]);
        Assert.StartsWith($"# {id}\n", readme, StringComparison.Ordinal);
        Assert.DoesNotContain("](", readme, StringComparison.Ordinal); // A link would lead nowhere from a package.
        string specification = Text(entries[id + ".nuspec"]);
        Assert.Contains("<license type=\"expression\">MIT</license>", specification, StringComparison.Ordinal);
        Assert.Contains("<readme>README.md</readme>", specification, StringComparison.Ordinal);
        Assert.DoesNotContain(" url=", specification, StringComparison.Ordinal);
        Assert.DoesNotContain("<projectUrl>", specification, StringComparison.Ordinal);
        Assert.Contains($"{folder}{id}.pdb", feed.Read(id, ".snupkg").Keys);
    }

    [Fact]
    public async Task GivenTheClient_WhenPackedAgain_ThenEveryEntryHasTheSameBytes()
    {
        using var directory = new TempDirectory();
        await Dotnet.RunAsync($"dotnet pack src/Client --no-build --output '{directory.FullPath}'", ProgramFiles.Root);
        foreach (string ending in (string[])[".nupkg", ".snupkg"])
        {
            IReadOnlyDictionary<string, byte[]> first = feed.Read("EQueue.Client", ending);
            IReadOnlyDictionary<string, byte[]> second = PackedFeed.ReadEntries(
                Directory.EnumerateFiles(directory.FullPath).Single(file => file.EndsWith(ending, StringComparison.Ordinal)));
            Assert.Equal(first.Keys, second.Keys);
            Assert.All(first, entry => Assert.Equal(entry.Value, second[entry.Key]));
        }
    }

    [Fact]
    public async Task GivenTheToolPackage_WhenInstalled_ThenItsCommandIsEqueue()
    {
        using var directory = new TempDirectory();
        await Dotnet.RunAsync(
            $"dotnet tool install EQueue.Cli --prerelease --tool-path '{directory["tools"]}' "
                + $"--add-source '{feed.Folder}/equeue-packages'",
            directory.FullPath,
            new Dictionary<string, string>(StringComparer.Ordinal) { ["NUGET_PACKAGES"] = directory["packages"] });
        string help = await Dotnet.RunAsync($"'{directory["tools/equeue"]}' --help", directory.FullPath);
        Assert.Contains("topic", help, StringComparison.Ordinal);
    }

    private static string Text(byte[] bytes) => Encoding.UTF8.GetString(bytes);
}
