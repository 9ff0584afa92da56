using System.Text.RegularExpressions;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>What a text of the program tells an operator to do can be done: its settings exist and take what it says,
/// and a test, marked with <see cref="FollowsAttribute"/>, does it. The texts are found in the sources.</summary>
public sealed partial class AdviceTests
{
    private static readonly string[] Rooms = ["Server", "Broker", "MessageStore", "Remoting", "Cluster"];

    /// <summary>Where texts are no advice, or no test can follow them.</summary>
    private static readonly string[] Elsewhere =
    [
        "src/Server/Services/", // to systemd and Windows' service control, which do not run where tests run
        "src/Server/Http/", // what an API is for
        "src/Broker/Serving/FailureAnswers.cs", // to clients, which do it by themselves
        "Settings.cs", // what a setting means
    ];

    private static IReadOnlyList<SourceText> Texts { get; } = SourceText.Of(Rooms);

    private static string[] Advice { get; } =
    [
        .. Texts.Where(text => !Elsewhere.Any(place => text.File.Contains(place, StringComparison.Ordinal)))
            .Select(text => text.Text)
            .Where(IsAdvice)
            .Distinct(),
    ];

    private static string[] Followed { get; } =
    [
        .. Directory.EnumerateFiles(Path.Combine(ProgramFiles.Root, "tests"), "*Tests.cs", SearchOption.AllDirectories)
            .Where(file => !file.EndsWith("Server.Tests/AdviceTests.cs", StringComparison.Ordinal))
            .SelectMany(file => Find(File.ReadAllText(file)))
            .Distinct(),
    ];

    [Fact]
    public void GivenEveryTextOfTheSources_WhenItNamesASetting_ThenThatSettingExists()
    {
        string[] named = [.. Texts.SelectMany(text => SettingName().Matches(text.Text)).Select(name => name.Value)];
        Assert.True(named.Distinct().Count() > 40, $"{named.Length}");
        Assert.All(named, name => Assert.Contains(
            Settings.All,
            setting => setting.Key == name || setting.Key.StartsWith(name + ":", StringComparison.Ordinal)));
    }

    [Fact]
    public void GivenEveryTextOfTheSources_WhenItCallsSomethingASetting_ThenItSaysTheWholeName()
    {
        string[] lastParts = [.. Settings.All.Select(setting => setting.Key.Split(':')[^1])];
        Assert.All(Texts, text => Assert.All(
            CalledASetting().Matches(text.Text),
            called => Assert.DoesNotContain(called.Groups["name"].Value, lastParts)));
    }

    [Fact]
    public void GivenEveryTextOfTheSources_WhenItSaysWhichValueToSet_ThenTheSettingTakesIt()
    {
        (string Key, string Value)[] values =
        [
            .. Texts.SelectMany(text => SetTo().Matches(text.Text))
                .Select(set => (set.Groups["key"].Value, set.Groups["value"].Value)),
        ];
        Assert.True(values.Length >= 3, string.Join(", ", values));
        Assert.All(values, set => Assert.NotNull(Settings.Find(set.Key)!.Read(new ServerOptions(), set.Value)));
    }

    [Fact]
    public void GivenEveryTextOfTheSources_WhenItNamesAnOption_ThenTheServerKnowsIt()
    {
        string[] options =
        [
            .. Texts.Where(text => !text.File.Contains(Elsewhere[0], StringComparison.Ordinal)
                    && !text.File.Contains("src/Broker/Security/", StringComparison.Ordinal)
                    && !text.File.Contains("src/Cluster/", StringComparison.Ordinal)) // of the command line
                .SelectMany(text => Option().Matches(text.Text)).Select(option => option.Value).Distinct(),
        ];
        Assert.True(options.Length > 6, string.Join(' ', options));
        Assert.All(options, option => Assert.DoesNotContain("is not an option", Refusal(option), StringComparison.Ordinal));
        Assert.Contains("is not an option", Refusal("--nothing"), StringComparison.Ordinal);
    }

    [Fact]
    public void GivenEveryTextThatTellsAnOperatorWhatToDo_WhenTheTestsAreLookedThrough_ThenOneDoesIt()
    {
        Assert.True(Advice.Length > 10, string.Join('\n', Advice));
        string[] left = [.. Advice.Where(advice => !Followed.Any(advice.Contains))];
        Assert.True(
            left.Length == 0,
            "No test does what these say: write one that takes the words from the message, under [Follows(\"...\")].\n"
            + string.Join('\n', left));
    }

    [Fact]
    public void GivenTheMarksOfTests_WhenHeldAgainstTheTexts_ThenEachIsPartOfOne() =>
        Assert.All(
            Followed,
            mark => Assert.Contains(Texts, text => text.Text.Contains(mark, StringComparison.Ordinal)));

    [Theory]
    [InlineData("It is gone. Start the server once with --Store:AcceptLostState true to go on without it.", true)]
    [InlineData("its files are damaged: run 'equeue restore' again, or empty the directory.", true)]
    [InlineData("{setting} is in use, or set another address", true)]
    [InlineData("Limits:MaxMessageBytes is '{message}': allowed is at most {largest}", true)]
    [InlineData("which {Others} can read. chmod {Mode} {Path} takes that away", true)]
    [InlineData("the limit is {Wanted} (ulimit -n)", true)]
    [InlineData("Opened the store in {Directory}: epoch {Epoch}", false)]
    [InlineData("Group {Group} was reset in {Queues} queues: it starts anew", false)]
    [InlineData("Removed {Path}: the log ends before it", false)]
    public void GivenATextOfEitherKind_WhenLookedAt_ThenAdviceIsTold(string text, bool isAdvice) =>
        Assert.Equal(isAdvice, IsAdvice(text));

    /// <summary>What the command line says to an option, with a value or without.</summary>
    private static string Refusal(string option)
    {
        string refusal = "";
        foreach (string[] arguments in (string[][])[[option], [option, "1"]])
        {
            try
            {
                CommandLine.Parse(arguments);
                return "";
            }
            catch (ConfigurationException exception)
            {
                refusal = exception.Message;
            }
        }

        return refusal;
    }

    private static bool IsAdvice(string text) => Imperative().IsMatch(text);

    /// <summary>What the tests of a file are marked with.</summary>
    private static IEnumerable<string> Find(string source) => MarkedTest().Matches(source)
        .Where(test => test.Value.Contains("[Fact", StringComparison.Ordinal)
            || test.Value.Contains("[Theory", StringComparison.Ordinal))
        .SelectMany(test => Mark().Matches(test.Value))
        .SelectMany(mark => SourceText.In(mark.Value));

    [GeneratedRegex(@"(?<![\w:])(Admin|Server|Security|Store|Limits|Topics|Groups|Cluster):[A-Z]\w*(:[A-Z]\w*)*", RegexOptions.ExplicitCapture)]
    private static partial Regex SettingName();

    [GeneratedRegex(@"\b[Ss]etting (?<name>[A-Z]\w*)(?!\w*:)")]
    private static partial Regex CalledASetting();

    [GeneratedRegex(@"(?<key>(Admin|Server|Security|Store|Limits|Topics|Groups|Cluster):[A-Z]\w*(:[A-Z]\w*)*) (to )?(?<value>[a-z]*(true|false|require|allow|none|sync|async)|[0-9]\w*)\b", RegexOptions.ExplicitCapture)]
    private static partial Regex SetTo();

    [GeneratedRegex(@"(?<![\w-])--[a-z][a-z-]*[a-z]\b(?!:)")]
    private static partial Regex Option();

    /// <summary>A sentence, or a part of one, that begins with what to do; a bound to keep to; a command.</summary>
    [GeneratedRegex(
        @"(?:^ ?|[.:;] |, or |, and |\})(?:" +
        @"[Ss]et|[Gg]ive|[Ss]tart|[Ll]essen|[Ee]nd|[Uu]se|[Rr]un|[Tt]ake|[Rr]estart|[Ss]top|[Ee]mpty|[Rr]aise|[Mm]ake|[Rr]emove|" +
        @"[Aa]dd|[Ll]ower|[Tt]ry|[Cc]hoose|[Rr]estore|[Pp]ut|[Mm]ove|[Dd]elete|[Cc]opy|chmod|allowed is(?= at most| \{\w+\}))(?= )" +
        @"|\bulimit\b|\bequeue [a-z]")]
    private static partial Regex Imperative();

    /// <summary>The attributes of a public method.</summary>
    [GeneratedRegex(@"(^[ \t]*\[.*\][ \t]*\n)+[ \t]*public ", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex MarkedTest();

    [GeneratedRegex(@"\[Follows\(.*\)\]")]
    private static partial Regex Mark();
}
