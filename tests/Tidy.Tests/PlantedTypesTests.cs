namespace EQueue.Tidy.Tests;

/// <summary>The rules that look at all types of a room can fail, and pass what only looks alike.</summary>
public sealed class PlantedTypesTests
{
    private const string Wire = "namespace N;\ninternal sealed class Wire { public Peer Owner { get; } = null!; }\n";

    [Theory]
    [InlineData("internal sealed class Peer { private Wire _wire; }")]
    [InlineData("internal sealed class Peer(Wire wire);")]
    [InlineData("internal sealed class Peer { private List<Wire> _wires = []; }")]
    [InlineData("internal sealed class Peer { private Wire?[] _wires = []; private Wire? Get() => null; }")]
    [InlineData("internal sealed class Peer { void Run() { Wire.Open(); } }")]
    [InlineData("internal sealed class Peer { object Run() => new Wire(); }")]
    [InlineData("internal sealed class Peer { bool Run(object a) => a is Wire; }")]
    [InlineData("internal sealed class Peer { void Run() { Take(out Wire wire); } }")]
    [InlineData("internal sealed class Peer { string Name => nameof(Wire); }")]
    [InlineData("internal sealed class Peer : Wire { }")]
    [InlineData("internal sealed class Peer { void Run(object a) { switch (a) { case Wire: break; } } }")]
    public void GivenTwoFoldersThatNameEachOther_WhenArrowsAreRead_ThenBothAreFoundWithTypesAndPlaces(string peer)
    {
        Violation[] found = [.. CheckFolders(("Wires/Wire.cs", Wire), ("Peers/Peer.cs", $"namespace N;\n{peer}\n"))];
        Assert.Equal(2, found.Length);
        Assert.Equal("folder-arrows | src/Remoting/Peers/Peer.cs:2 | Peers names types of Wires, and a way leads back "
            + "(Wires > Peers): Wire (Peer.cs 2)", found[0].ToString());
        Assert.Contains("Wires names types of Peers", found[1].What, StringComparison.Ordinal);
        Assert.Contains("Peer (Wire.cs 2)", found[1].What, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("internal sealed class Peer { private int _a; /* Wire */ } // Wire")]
    [InlineData("internal sealed class Peer { string Name => \"Wire wire\"; }")]
    [InlineData("internal sealed class Peer { public int Wire { get; } bool Run() => Wire.Equals(1) || Wire > 2 || Run(Wire); }")]
    [InlineData("internal sealed class Peer { object Run(Line line) => line.Wire; }")]
    [InlineData("internal sealed class Peer { object Run() => new Line { Wire = 1 }; }")]
    [InlineData("internal sealed class Peer { bool Run(Line a) => a is { Wire: 1 }; }")]
    [InlineData("internal sealed class Peer { private Wire<int> _otherWire; }")]
    [InlineData("internal sealed class Peer { private sealed class Wire { } private object _wire = Make(typeof(Wire)); }")]
    [InlineData("internal enum Peer { Wire, Air }")]
    [InlineData("internal sealed class Peer { void Wire() { } void Run() { Wire(); Call(Wire); } }")]
    public void GivenANameThatOnlyLooksLikeAType_WhenArrowsAreRead_ThenItPasses(string peer)
        => Assert.Empty(CheckFolders(("Wires/Wire.cs", Wire), ("Peers/Peer.cs", $"namespace N;\n{peer}\n")));

    [Fact]
    public void GivenAWayThroughThreeFolders_WhenItLeadsBack_ThenEachArrowOfItIsFound()
        => Assert.Equal(3, CheckFolders(
            ("A/One.cs", "class One { Two _two; }"), ("B/Two.cs", "class Two { Three _three; }"),
            ("C/Three.cs", "class Three { One _one; }"), ("D/Four.cs", "class Four { One _one; }")).Count());

    [Fact]
    public void GivenAWayThatLeadsThroughTheDoor_WhenArrowsAreRead_ThenItPasses()
        => Assert.Empty(CheckFolders(
            ("A/One.cs", "class One { Door _door; }"), ("Door.cs", "class Door { One _one; Two _two; }"),
            ("B/Two.cs", "class Two { One _one; }")));

    [Fact]
    public void GivenAFolderInAFolder_WhenTheyNameEachOther_ThenItIsFound()
        => Assert.Equal(2, CheckFolders(
            ("A/One.cs", "class One { Two _two; }"), ("A/B/Two.cs", "class Two { One _one; }")).Count());

    [Fact]
    public void GivenAClassWithAPartInAnotherFolder_WhenThatPartNamesIt_ThenItCountsForTheWholeClass()
        => Assert.Equal(2, CheckFolders(
            ("A/One.cs", "partial class One { }"), ("A/Inner/One.Part.cs", "partial class One { Two _two; }"),
            ("B/Two.cs", "class Two { One _one; }")).Count());

    [Theory]
    [InlineData("  A  one\n  B  two", "")]
    [InlineData("  B  two\n  A  one", "B names types of A, which stands below it")]
    [InlineData("  B  two", "src/Remoting/A is not in the list of Remoting")]
    [InlineData("  A  one\n  B  two\n  C  three", "src/Remoting/C is listed and does not exist")]
    public void GivenAMapOfFolders_WhenComparedWithTheCode_ThenWhatIsWrongInItIsFound(string list, string expected)
    {
        var map = new SourceFile("docs/architecture.md", $"```\nsrc/Remoting\n{list}\n```\n");
        SourceFile[] files = Files(("A/One.cs", "class One { }"), ("B/Two.cs", "class Two { One _one; }"), ("Door.cs", "class Door { Two _two; }"));
        Assert.Equal(expected, string.Join(';', FolderMap.Check(map, files).Select(found => found.What)));
    }

    [Theory]
    [InlineData("| `src/Remoting/A/One.cs` | `One` | x |\n| `src/Remoting/B/Two.cs` | `Two` | x |\n", "")]
    [InlineData("| `src/Remoting/B/Two.cs` | `Two` | x |\n| `src/Remoting/A/One.cs` | `One` | x |\n", "Way: no file above src/Remoting/A/One.cs names One")]
    [InlineData("| `src/Remoting/A/One.cs` | `Gone` | x |\n", "Way: src/Remoting/A/One.cs has no Gone")]
    [InlineData("| `src/Remoting/A/Three.cs` | `Three` | x |\n", "Way: src/Remoting/A/Three.cs is not there")]
    public void GivenAWayOfAMessage_WhenItsFilesAreRead_ThenWhatIsNotSoIsFound(string rows, string expected)
    {
        var page = new SourceFile("docs/architecture.md", $"**Way**\n\n| file | through | what happens |\n|---|---|---|\n{rows}\n");
        SourceFile[] files = Files(("A/One.cs", "class One { Two _two; }"), ("B/Two.cs", "class Two { }"));
        Assert.Equal(expected, string.Join(';', MessagePaths.Check(page, files).Select(found => found.What)));
    }

    [Fact]
    public void GivenAWayOfThirteenFiles_WhenCounted_ThenItIsTooLong()
    {
        SourceFile[] files = [.. Enumerable.Range(0, 13).Select(i => new SourceFile($"src/Client/F{i}.cs", $"class F{i} {{ F{i + 1} _next; }}"))];
        string rows = string.Concat(files.Select((file, i) => $"| `{file.Path}` | `F{i}` | x |\n"));
        var page = new SourceFile("docs/architecture.md", $"**Way**\n\n| file | through | what happens |\n|---|---|---|\n{rows}\n");
        Assert.Equal("Way: it has 13 files, at most 12", Assert.Single(MessagePaths.Check(page, files)).What);
        Assert.Single(MessagePaths.Check(new SourceFile("docs/architecture.md", "none"), files));
    }

    [Fact]
    public void GivenARoomWithFoldersThatIsNotInTheMap_WhenComparedWithTheCode_ThenItIsFound()
    {
        var map = new SourceFile("docs/architecture.md", "no list\n");
        Violation found = Assert.Single(FolderMap.Check(map, Files(("A/One.cs", "class One { }"), ("Door.cs", "class Door { }"))));
        Assert.Equal("src/Remoting has no list of its folders", found.What);
    }

    [Fact]
    public void GivenARoomThatIsExcused_WhenItHasNoCircle_ThenTheExcuseIsFound()
    {
        SourceFile[] circle = Files(("A/One.cs", "class One { Two _two; }"), ("B/Two.cs", "class Two { One _one; }"));
        Assert.Empty(FolderArrows.Check(circle, ["Remoting"]));
        Assert.Single(FolderArrows.Check([circle[0]], ["Remoting"]));
    }

    [Theory]
    [InlineData(TypeSizes.MostLines, 0)]
    [InlineData(TypeSizes.MostLines + 1, 1)]
    public void GivenATypeInTwoFiles_WhenTheLinesOfBothAreCounted_ThenTheLimitHoldsExactly(int lines, int expected)
    {
        SourceFile[] files = Files(("A.cs", Part(lines / 2)), ("A.Rest.cs", Part(lines - (lines / 2))));
        Assert.Equal(expected, TypeSizes.CheckLengths(files).Count());
    }

    [Theory]
    [InlineData(TypeSizes.MostFields, 0)]
    [InlineData(TypeSizes.MostFields + 1, 1)]
    public void GivenATypeInTwoFiles_WhenTheFieldsOfBothAreCounted_ThenTheLimitHoldsExactly(int fields, int expected)
    {
        string first = "partial class A { private int _a = 1; }";
        string rest = string.Concat(Enumerable.Range(1, fields - 1).Select(i => $"private readonly Dictionary<int, int[]> _f{i};\n"));
        SourceFile[] files = Files(("A.cs", first), ("A.Rest.cs", $"partial class A\n{{\n{rest}}}\n"));
        Assert.Equal(expected, TypeSizes.CheckFields(files).Count());
    }

    [Theory]
    [InlineData("private int _a, _b;", "_a _b")]
    [InlineData("private (long From, long To) _a;", "_a")]
    [InlineData("[ThreadStatic] private static int? _a;", "_a")]
    [InlineData("private readonly Lock _a = new() { B = 1 }; private int[] _c = [1];", "_a _c")]
    [InlineData("public event Action<int>? A;", "A")]
    [InlineData("private readonly Func<int> _a = () => { int b = 1; return b; };", "_a")]
    [InlineData("public const int A = 1; private static readonly TimeSpan B = C(2);", "")]
    [InlineData("public int A { get; } = 1; public int B => 2; int C(int d = 1) { int e = 3; return e; } abstract int F();", "")]
    [InlineData("public static bool operator ==(A a, A b) => true; private sealed class Inner { private int _a; }", "")]
    public void GivenMembers_WhenFieldsAreFound_ThenOnlyFieldsAre(string members, string expected)
    {
        TypePart part = TypePart.FindIn(Files(("A.cs", $"class A\n{{\n{members}\n}}\n"))[0]).Single(found => found.Name == "A");
        Assert.Equal(expected, string.Join(' ', part.Fields));
    }

    private static string Part(int lines) => $"partial class A\n{{\n{new string('\n', lines - 3)}}}\n";

    private static IEnumerable<Violation> CheckFolders(params (string Path, string Text)[] files)
        => FolderArrows.Check(Files(files), []);

    private static SourceFile[] Files(params (string Path, string Text)[] files)
        => [.. files.Select(file => new SourceFile($"src/Remoting/{file.Path}", file.Text))];
}
