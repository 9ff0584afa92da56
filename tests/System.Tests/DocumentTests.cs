using System.Text.RegularExpressions;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The documents hang together: each is found from the README, each link leads somewhere, and code that is shown
/// is code that is built.</summary>
public sealed partial class DocumentTests
{
    public static TheoryData<string> Documents =>
    [
        "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "samples/README.md",
        "perf/results/README.md", .. Pages("docs"), .. Pages("docs/notes"), .. Pages("docs/decisions"),
    ];

    [Fact]
    public void GivenThePagesOfTheDocumentation_WhenTheReadmeIsRead_ThenItLinksEachOfThem()
    {
        string[] linked = [.. LinkPattern().Matches(Read("README.md")).Select(match => match.Groups["target"].Value)];
        string[] pages = [.. Pages("docs")];
        Assert.InRange(pages.Length, 20, 100);
        Assert.Empty(pages.Append("SECURITY.md").Append("CHANGELOG.md").Except(linked));
    }

    [Fact]
    public void GivenTheNotesOfMeasurements_WhenTheirFirstPageIsRead_ThenItLinksEachAndNoCellOfATableIsAPage()
    {
        const int longestCell = 200;
        string[] linked = [.. LinkPattern().Matches(Read("docs/notes/README.md")).Select(match => match.Groups["target"].Value)];
        Assert.Empty(Pages("docs/notes").Select(Path.GetFileName).Except(linked).Except(["README.md"]));
        foreach (string page in (string[])["docs/measuring.md", "docs/results.md", .. Pages("docs/notes")])
        {
            IEnumerable<string> cells = Read(page).Split('\n').Where(line => line.StartsWith('|')).SelectMany(line => line.Split('|'));
            Assert.DoesNotContain(cells, cell => cell.Length > longestCell);
        }
    }

    [Theory]
    [MemberData(nameof(Documents))]
    public void GivenADocument_WhenItsLinksAreFollowed_ThenEachLeadsToAFileAndAHeadingOfIt(string document)
    {
        string folder = Path.GetDirectoryName(Path.Combine(ProgramFiles.Root, document))!;
        foreach (Match match in LinkPattern().Matches(Read(document)))
        {
            (string target, string heading) = (match.Groups["target"].Value, match.Groups["heading"].Value);
            string path = target.Length == 0 ? Path.Combine(ProgramFiles.Root, document) : Path.Combine(folder, target);
            Assert.True(Path.Exists(path), $"{document} links to {target}");
            if (heading.Length > 0)
                Assert.True(Anchors(path).Contains(heading), $"{document} links to {target}#{heading}");
        }
    }

    [Fact]
    public void GivenCodeThatADocumentTakesFromASample_WhenCompared_ThenTheSampleHasIt()
    {
        int compared = 0;
        foreach (string document in Documents.Select(row => row.Data))
        {
            foreach (CodeBlock block in DocumentFile.Read(document).Blocks)
            {
                string source = Path.Combine(ProgramFiles.Root, block.Name);
                if (!block.Name.StartsWith("samples/", StringComparison.Ordinal))
                    continue;
                Assert.True(File.Exists(source), $"{document} takes code from {block.Name}");
                Assert.Contains(Unspaced(block.Text), Unspaced(File.ReadAllText(source)), StringComparison.Ordinal);
                compared++;
            }
        }

        Assert.InRange(compared, 5, 100);
    }

    [Theory]
    [InlineData("docs/worker.md")]
    [InlineData("docs/containers.md")]
    [InlineData("docs/comparison.md")]
    public void GivenAPageOfAdvice_WhenItShowsCSharp_ThenAllOfItIsASamples(string document) =>
        Assert.All(
            DocumentFile.Read(document).Blocks.Where(block => block.Language == "csharp"),
            block => Assert.StartsWith("samples/", block.Name, StringComparison.Ordinal));

    [Fact]
    public void GivenTheReadme_WhenItsFirstSentencesAreRead_ThenTheSecondSaysWhatIsRemovedUnlessSetOtherwise()
    {
        string[] sentences = Read("README.md").Split("\n\n")[1].Split('\n');
        Assert.Contains("7 days", sentences[1], StringComparison.Ordinal);
        Assert.Contains("80 % of the disk", sentences[1], StringComparison.Ordinal);
        Assert.Contains("read or not", sentences[1], StringComparison.Ordinal);
    }

    [Fact]
    public void GivenAPromiseThatNothingAcknowledgedIsLost_WhenItsPageIsRead_ThenThatSaysBesideItWhatIsRemoved()
    {
        string[] promising = [.. Promising.Where(document => PromisePattern().IsMatch(Unspaced(Read(document))))];
        Assert.Superset(
            new HashSet<string>(["README.md", "packaging/EQueue.Client.md", "docs/architecture.md",
                "src/MessageStore/README.md"]),
            promising.ToHashSet());
        Assert.All(promising, static document =>
        {
            string text = Unspaced(Read(document));
            Match promise = PromisePattern().Match(text);
            string near = text[Math.Max(0, promise.Index - 400)..Math.Min(text.Length, promise.Index + 400)];
            Assert.Contains("7 days", near, StringComparison.Ordinal);
            Assert.Contains("80 % of the disk", near, StringComparison.Ordinal);
            Assert.Contains("read or not", near, StringComparison.Ordinal);
        });
    }

    /// <summary>The first pages that people read.</summary>
    private static string[] Promising =>
    [
        "README.md", "docs/architecture.md",
        .. Directory.EnumerateFiles(Path.Combine(ProgramFiles.Root, "packaging"), "*.md")
            .Concat(Directory.EnumerateFiles(Path.Combine(ProgramFiles.Root, "src"), "README.md", SearchOption.AllDirectories))
            .Select(static path => Path.GetRelativePath(ProgramFiles.Root, path).Replace('\\', '/')),
    ];

    private static IEnumerable<string> Pages(string folder) =>
        Directory.EnumerateFiles(Path.Combine(ProgramFiles.Root, folder), "*.md")
            .Select(path => $"{folder}/{Path.GetFileName(path)}").Order(StringComparer.Ordinal);

    private static string Read(string document) => File.ReadAllText(Path.Combine(ProgramFiles.Root, document));

    private static HashSet<string> Anchors(string path) =>
    [
        .. File.ReadLines(path)
            .Where(line => line.StartsWith('#'))
            .Select(line => NotOfAnchorPattern().Replace(line.TrimStart('#').Trim().ToLowerInvariant(), "")
                .Replace(' ', '-')),
    ];

    private static string Unspaced(string text) => SpacePattern().Replace(text, " ").Trim();

    [GeneratedRegex(@"\s+")]
    private static partial Regex SpacePattern();

    [GeneratedRegex("(nothing|what it) acknowledged|(never|ever) lost?es? what it acknowledged|acknowledged.{0,20} lost", RegexOptions.IgnoreCase | RegexOptions.ExplicitCapture)]
    private static partial Regex PromisePattern();

    [GeneratedRegex(@"[^\w\- ]")]
    private static partial Regex NotOfAnchorPattern();

    [GeneratedRegex(@"\]\((?<target>[^):#\s]*)(#(?<heading>[^)\s]+))?\)", RegexOptions.ExplicitCapture)]
    private static partial Regex LinkPattern();
}
