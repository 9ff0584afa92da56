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
        (string Candidate, int Distance)[] near = [.. NearNames.Within(word, candidates, most)];
        return near.Length == 0
            ? null
            : NearNames.Ask(
                [.. near.TakeWhile(one => one.Distance == near[0].Distance).Select(static one => one.Candidate)]);
    }
}
