namespace EQueue.Tidy.Tests;

/// <summary>The rules held against the repository as it stands.</summary>
public sealed class HouseTests
{
    public static TheoryData<string> RuleNames => [.. Rules.All.Keys];

    [Theory]
    [MemberData(nameof(RuleNames))]
    public void GivenTheRepository_WhenARuleIsHeldAgainstEveryFile_ThenNoneBreaksIt(string rule)
        => AssertNone(Repository.Files.SelectMany(Rules.All[rule]));

    [Fact]
    public void GivenTheProjects_WhenTheirReferencesAreRead_ThenArrowsPointDownOnly()
        => AssertNone(Arrows.Check(Repository.Files));

    [Fact]
    public void GivenTheRooms_WhenTheirFoldersAreRead_ThenNoneNamesOneThatLeadsBackToIt()
        => AssertNone(FolderArrows.Check(Repository.Files));

    [Fact]
    public void GivenTheMapOfFolders_WhenComparedWithTheCode_ThenEachIsListedAndNamesThoseAboveItAlone()
        => AssertNone(FolderMap.Check(
            Repository.Files.Single(file => file.Path == "docs/architecture.md"), Repository.Files));

    [Fact]
    public void GivenTheWaysOfAMessage_WhenComparedWithTheCode_ThenEachFileIsThereAndReachedAsToldAndNoneIsTooLong()
        => AssertNone(MessagePaths.Check(
            Repository.Files.Single(file => file.Path == "docs/architecture.md"), Repository.Files));

    [Fact]
    public void GivenTheTypes_WhenTheLinesOfAllTheirPartsAreCounted_ThenNoneIsTooLong()
        => AssertNone(TypeSizes.CheckLengths(Repository.Files));

    [Fact]
    public void GivenTheTypes_WhenTheirFieldsAreCounted_ThenNoneHasTooMany()
        => AssertNone(TypeSizes.CheckFields(Repository.Files));

    [Fact]
    public void GivenTheRooms_WhenTheirLogMessagesAreRead_ThenEachHasItsOwnIdInOneFile()
        => AssertNone(LogIds.Check(Repository.Files));

    [Fact]
    public void GivenAStoreThatLeads_WhenFilesGetNamesOrGo_ThenTheyPassTheGate()
        => AssertNone(Gates.Check(Repository.Files));

    [Fact]
    public void GivenTheSolution_WhenProjectsAreListed_ThenNoneIsLeftOut()
    {
        string solution = File.ReadAllText(Path.Combine(Repository.Root, "EQueue.sln")).Replace('\\', '/');
        Assert.Empty(Repository.Files
            .Where(file => file.Path.EndsWith(".csproj", StringComparison.Ordinal))
            .Where(file => !solution.Contains($"\"{file.Path}\"", StringComparison.Ordinal))
            .Select(file => file.Path));
    }

    [Theory]
    [InlineData("src/MessageStore/README.md")]
    [InlineData("src/Remoting/README.md")]
    public void GivenARoomThatIsUsableAlone_WhenItsFolderIsRead_ThenItHasAReadmeWithAnExample(string path)
    {
        SourceFile? readme = Repository.Files.SingleOrDefault(file => file.Path == path);
        Assert.NotNull(readme);
        Assert.Contains("```csharp", readme.Text, StringComparison.Ordinal);
    }

    [Fact]
    public void GivenTheExceptions_WhenCounted_ThenThereAreFewAndEachIsStillNeeded()
    {
        Assert.InRange(Exceptions.OfRepository.Entries.Count, 0, Exceptions.Most);
        Violation[] all = [.. Repository.Files.SelectMany(file => Rules.All.Values.SelectMany(rule => rule(file)))];
        Assert.All(Exceptions.OfRepository.Entries, entry => Assert.Contains(
            all, violation => violation.Rule == entry.Rule && violation.Path == entry.Path));
    }

    [Fact]
    public void GivenTheCheckout_WhenItsFilesAreListed_ThenTheyAreThere()
    {
        Assert.InRange(Repository.CSharp.Count(), 100, 100_000);
        Assert.Contains(Repository.Files, file => file.Path == ".ci/run");
    }

    private static void AssertNone(IEnumerable<Violation> violations)
    {
        string[] broken = [.. violations.Where(found => !Exceptions.OfRepository.Covers(found)).Select(v => v.ToString())];
        Assert.True(broken.Length == 0, string.Join('\n', broken));
    }
}
