namespace EQueue.Cli.Input;

/// <summary>Finds what a person may have meant by a word that there is not.</summary>
internal static class Nearest
{
    /// <summary>A question, such as <c>Did you mean 'consume'?</c>, which names all that are equally near; null when
    /// nothing is near.</summary>
    /// <param name="word">As it was written.</param>
    /// <param name="candidates">What there is.</param>
    public static string? Ask(string word, IEnumerable<string> candidates)
    {
        int most = Math.Min(3, word.TrimStart('-').Length / 3);
        string[] found = candidates
            .Where(candidate => candidate != word)
            .Select(candidate => (Candidate: candidate, Distance: DistanceOf(word, candidate)))
            .Where(one => one.Distance <= most)
            .GroupBy(static one => one.Distance, static one => $"'{one.Candidate}'")
            .OrderBy(static near => near.Key)
            .FirstOrDefault()?
            .Order(StringComparer.Ordinal).ToArray() ?? [];
        return found.Length == 0 ? null : $"Did you mean {string.Join(" or ", found)}?";
    }

    /// <summary>Letters to insert, leave out, change, or swap with their neighbour; case does not count.</summary>
    private static int DistanceOf(string one, string other)
    {
        (one, other) = (one.ToUpperInvariant(), other.ToUpperInvariant());
        int[,] rows = new int[one.Length + 1, other.Length + 1];
        for (int i = 0; i <= one.Length; i++)
            rows[i, 0] = i;
        for (int j = 0; j <= other.Length; j++)
            rows[0, j] = j;
        for (int i = 1; i <= one.Length; i++)
        {
            for (int j = 1; j <= other.Length; j++)
            {
                int change = rows[i - 1, j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
                rows[i, j] = Math.Min(change, Math.Min(rows[i - 1, j], rows[i, j - 1]) + 1);
                if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                    rows[i, j] = Math.Min(rows[i, j], rows[i - 2, j - 2] + 1);
            }
        }

        return rows[one.Length, other.Length];
    }
}
