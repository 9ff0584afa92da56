using System.Text.RegularExpressions;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>
/// Every setting has a test that shows what it does, in the room that does it, marked with <see cref="EffectOfAttribute"/>.
/// </summary>
public sealed partial class EffectMarkTests
{
    public static TheoryData<string> Keys => [.. Settings.All.Select(setting => setting.Key)];

    private static HashSet<string> Marked { get; } =
        Directory.EnumerateFiles(Path.Combine(ProgramFiles.Root, "tests"), "*Tests.cs", SearchOption.AllDirectories)
            .Where(file => Path.GetFileName(file) != $"{nameof(EffectMarkTests)}.cs")
            .SelectMany(file => Find(File.ReadAllText(file)))
            .ToHashSet(StringComparer.Ordinal);

    [Theory]
    [MemberData(nameof(Keys))]
    public void GivenASetting_WhenTheTestsAreLookedThrough_ThenOneShowsItsEffect(string key) => Assert.True(
        Marked.Contains(key), $"No test shows what {key} does: write one in its room, under [EffectOf(\"{key}\")].");

    [Fact]
    public void GivenTheMarks_WhenHeldAgainstTheSettings_ThenEachNamesOneThatIs() =>
        Assert.Empty(Marked.Except(Settings.All.Select(setting => setting.Key)));

    [Fact]
    public void GivenMarksAboveTestsAndElsewhere_WhenLookedFor_ThenThoseAboveTestsCount()
    {
        Assert.Equal(["A:B", "C:D"], Find("    [Fact]\n    [EffectOf(\"A:B\", \"C:D\")]\n    public void GivenX() { }"));
        Assert.Equal(["E:F"], Find("[EffectOf(\"E:F\")]\n[Theory]\n[InlineData(1)]\npublic async Task GivenX(int i)"));
        Assert.Empty(Find("// [EffectOf(\"A:B\")]\n"));
        Assert.Empty(Find("[EffectOf(\"A:B\")]\nprivate void Helper() { }"));
    }

    /// <summary>The keys that the tests of a file are marked with.</summary>
    private static IEnumerable<string> Find(string source) => MarkedTest().Matches(source)
        .Where(test => test.Value.Contains("[Fact", StringComparison.Ordinal)
            || test.Value.Contains("[Theory", StringComparison.Ordinal))
        .SelectMany(test => Mark().Matches(test.Value))
        .SelectMany(mark => Key().Matches(mark.Value))
        .Select(key => key.Value);

    /// <summary>The attributes of a public method.</summary>
    [GeneratedRegex(@"(^[ \t]*\[.*\][ \t]*\n)+[ \t]*public ", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex MarkedTest();

    [GeneratedRegex(@"\[EffectOf\(.*\)\]")]
    private static partial Regex Mark();

    [GeneratedRegex("(?<=\")[A-Za-z]+(:[A-Za-z]+)+(?=\")", RegexOptions.ExplicitCapture)]
    private static partial Regex Key();
}
