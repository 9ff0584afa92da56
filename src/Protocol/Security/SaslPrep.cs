using System.Globalization;
using System.Text;

namespace EQueue.Protocol;

/// <summary>Makes one text of the many that people mean the same by, before it becomes a key: RFC 4013.</summary>
/// <remarks>
/// Spaces of all kinds become U+0020, what is invisible goes, NFKC is applied, and control characters, private use,
/// unassigned code points and marks of direction are refused. Left out: the rule for texts that mix directions (RFC
/// 3454, section 6), and the limitation to Unicode 3.2. A process without Unicode's tables (InvariantGlobalization, as
/// the broker and its command line are) cannot apply NFKC: it takes texts which NFKC leaves alone for sure, among them
/// all of ASCII and the common letters of Latin, Greek, Cyrillic, Chinese, Japanese and Korean, and refuses others
/// rather than make a key that another process would not make.
/// </remarks>
public static class SaslPrep
{
    /// <summary>Most characters of a text.</summary>
    public const int MaxLength = 1_024;

    private static readonly bool CanNormalize = "\u2163".Normalize(NormalizationForm.FormKC) == "IV";

    /// <summary>First and last code points of ranges beyond ASCII that NFKC leaves alone, alone and in any order: no
    /// decomposition, no combining class, never the second half of a composition. A test asks Python.</summary>
    private static ReadOnlySpan<int> Stable =>
    [
        0xA1, 0xA7, 0xA9, 0xA9, 0xAB, 0xAC, 0xAE, 0xAE, 0xB0, 0xB1, 0xB6, 0xB7,
        0xBB, 0xBB, 0xBF, 0x131, 0x134, 0x13E, 0x141, 0x148, 0x14A, 0x17E, 0x180, 0x1C3,
        0x1CD, 0x1F0, 0x1F4, 0x2AF, 0x38E, 0x3A1, 0x3A3, 0x3CF, 0x400, 0x482, 0x48A, 0x52F,
        0x531, 0x556, 0x561, 0x586, 0x5D0, 0x5EA, 0x621, 0x64A, 0x904, 0x939, 0xE01, 0xE30,
        0x1E00, 0x1E99, 0x1E9C, 0x1EFF, 0x2012, 0x2016, 0x2018, 0x2023, 0x20A0, 0x20A7, 0x20A9, 0x20BF,
        0x2190, 0x21FF, 0x3041, 0x3096, 0x30A1, 0x30FE, 0x4E00, 0x9FEF, 0xAC00, 0xD7A3, 0x1F300, 0x1F6D4,
        0x1F900, 0x1F9FF,
    ];

    /// <summary>Prepares a text.</summary>
    /// <param name="text">1 to <see cref="MaxLength"/> characters; some must be left when it is prepared.</param>
    /// <param name="parameterName">What the exception calls it.</param>
    /// <exception cref="ArgumentException">It is null, empty, too long or has characters that are refused. The message
    /// does not quote it.</exception>
    public static string Prepare(string text, string parameterName)
    {
        ArgumentException.ThrowIfNullOrEmpty(text, parameterName);
        return Find(text, out string prepared) is { } fault
            ? throw new ArgumentException(fault, parameterName)
            : prepared;
    }

    /// <summary>Prepares a text if it can be.</summary>
    /// <returns>False when it is null, empty, too long or has characters that are refused.</returns>
    public static bool TryPrepare(string? text, out string prepared)
    {
        prepared = "";
        return !string.IsNullOrEmpty(text) && Find(text, out prepared) is null;
    }

    /// <summary>Prepares; gives what is wrong, or null.</summary>
    private static string? Find(string text, out string prepared)
    {
        prepared = "";
        if (text.Length > MaxLength)
            return $"It has {text.Length} characters, more than {MaxLength}.";
        var mapped = new StringBuilder(text.Length);
        bool isStable = true;
        for (int i = 0; i < text.Length; i++)
        {
            if (!Rune.TryGetRuneAt(text, i, out Rune rune))
                return "It has half a surrogate pair.";
            i += rune.Utf16SequenceLength - 1;
            if (IsNothing(rune.Value))
                continue;
            Rune kept = Rune.GetUnicodeCategory(rune) == UnicodeCategory.SpaceSeparator ? new Rune(' ') : rune;
            isStable &= IsStable(kept.Value);
            mapped.Append(kept.ToString());
        }

        string whole = mapped.ToString();
        if (whole.EnumerateRunes().Any(IsProhibited))
            return Prohibited;
        if (!isStable && !CanNormalize)
        {
            return "It has characters that this process cannot bring into one form without Unicode's tables "
                + "(InvariantGlobalization); common letters and all of ASCII need none.";
        }

        prepared = isStable ? whole : whole.Normalize(NormalizationForm.FormKC);
        if (prepared.EnumerateRunes().Any(IsProhibited))
            return Prohibited;
        return prepared.Length > 0 ? null : "Nothing of it can be seen.";
    }

    private const string Prohibited = "It has a control character, or another that has no place in it.";

    private static bool IsStable(int code)
    {
        if (code <= '~')
            return true;
        for (int i = 0; i < Stable.Length; i += 2)
        {
            if (code >= Stable[i] && code <= Stable[i + 1])
                return true;
        }

        return false;
    }

    /// <summary>RFC 3454, table B.1: commonly mapped to nothing.</summary>
    private static bool IsNothing(int code) => code
        is 0xAD or 0x34F or 0x1806 or (>= 0x180B and <= 0x180D) or (>= 0x200B and <= 0x200D) or 0x2060
        or (>= 0xFE00 and <= 0xFE0F) or 0xFEFF;

    /// <summary>RFC 3454, tables C.2 to C.9, by what Unicode says of the character.</summary>
    private static bool IsProhibited(Rune rune) => Rune.GetUnicodeCategory(rune)
        is UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.Surrogate or UnicodeCategory.PrivateUse
        or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator or UnicodeCategory.OtherNotAssigned
        || rune.Value is 0x340 or 0x341 or 0xFFFC or 0xFFFD or (>= 0x2FF0 and <= 0x2FFB);
}
