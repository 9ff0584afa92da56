using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace EQueue.Protocol.Tests.Security;

/// <summary>Texts become one form, or are refused; never two forms in two processes.</summary>
public sealed class SaslPrepTests
{
    private const string Python = "/usr/bin/python3";

    /// <summary>Prints each code point of standard input that NFKC changes or reorders, or that something before it can
    /// take in.</summary>
    private const string Judge = """
        import sys, unicodedata
        for line in sys.stdin:
            c = chr(int(line, 16))
            if (unicodedata.normalize('NFKC', c) != c or unicodedata.combining(c) != 0
                    or unicodedata.category(c)[0] == 'M' or 0x1160 <= ord(c) <= 0x11FF):
                print(line.strip())
        """;

    [Theory]
    [InlineData("user", "user")]
    [InlineData("USER", "USER")]
    [InlineData("I\u00adX", "IX")]
    [InlineData("a\u3000b\u00a0", "a b ")]
    [InlineData("\u200bx\ufe0f", "x")]
    [InlineData("gr\u00fc\u00df", "gr\u00fc\u00df")]
    public void GivenATextThatPeopleWriteInSeveralWays_WhenPrepared_ThenItIsOne(string text, string expected) =>
        Assert.Equal(expected, SaslPrep.Prepare(text, "password"));

    [Theory]
    [InlineData("")]
    [InlineData("\u00ad")]
    [InlineData("a\u0007")]
    [InlineData("a\u0085")]
    [InlineData("a\u202e")]
    [InlineData("a\ue000")]
    [InlineData("a\ufffd")]
    [InlineData("a\u2028b")]
    [InlineData("a\u0378")]
    public void GivenATextWithWhatHasNoPlaceInIt_WhenPrepared_ThenItIsRefusedAndNotQuoted(string text)
    {
        ArgumentException exception = Assert.ThrowsAny<ArgumentException>(() => SaslPrep.Prepare(text, "password"));
        Assert.Equal("password", exception.ParamName);
        Assert.False(SaslPrep.TryPrepare(text, out _));
    }

    [Fact]
    public void GivenAHalfOfASurrogatePairOrTooMuch_WhenPrepared_ThenItIsRefused()
    {
        Assert.False(SaslPrep.TryPrepare("a\ud83d", out _));
        Assert.False(SaslPrep.TryPrepare(null, out _));
        Assert.False(SaslPrep.TryPrepare(new string('a', SaslPrep.MaxLength + 1), out _));
        Assert.True(SaslPrep.TryPrepare(new string('a', SaslPrep.MaxLength), out _));
    }

    [Theory]
    [InlineData("\u2163", "IV")]
    [InlineData("\u00aa", "a")]
    [InlineData("e\u0301", "\u00e9")]
    public void GivenATextThatNfkcChanges_WhenPrepared_ThenItIsChangedOrRefusedForWantOfTables(
        string text, string expected)
    {
        if ("\u2163".Normalize(NormalizationForm.FormKC) == "IV")
        {
            Assert.Equal(expected, SaslPrep.Prepare(text, "password"));
            return;
        }

        ArgumentException exception = Assert.ThrowsAny<ArgumentException>(() => SaslPrep.Prepare(text, "password"));
        Assert.Contains("InvariantGlobalization", exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenEachCharacterThatIsTakenWithoutTables_WhenPythonIsAsked_ThenNfkcLeavesItAlone()
    {
        Assert.SkipUnless(File.Exists(Python), "python3 is missing: apt-get install python3 to ask it about NFKC.");
        int[] taken = [.. Enumerable.Range(0x80, 0x20000 - 0x80)
            .Where(static code => code is < 0xD800 or > 0xDFFF && IsKept(char.ConvertFromUtf32(code)))];
        Assert.True(taken.Length > 30_000, $"{taken.Length} are taken.");

        var start = new ProcessStartInfo(Python)
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            ArgumentList = { "-c", Judge },
        };
        using Process python = Process.Start(start)!;
        Task<string> changed = python.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await python.StandardInput.WriteAsync(string.Join(
            '\n', taken.Select(static code => code.ToString("X", CultureInfo.InvariantCulture))));
        python.StandardInput.Close();
        Assert.Equal("", await changed);
        await python.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.Equal(0, python.ExitCode);
    }

    private static bool IsKept(string character) =>
        SaslPrep.TryPrepare(character, out string prepared) && prepared == character;
}
