namespace EQueue.Server.Configuration;

/// <summary>Finds the name that was probably meant by one that does not exist.</summary>
internal static class NearName
{
    /// <summary>" Did you mean 'Server:Listen'?" or nothing, to put behind a message.</summary>
    /// <param name="wrong">The name that does not exist.</param>
    /// <param name="names">Those that do.</param>
    public static string Hint(string wrong, IEnumerable<string> names) =>
        Find(wrong, names) is { } near ? $" Did you mean '{near}'?" : "";

    /// <summary>The nearest name; null: none is near.</summary>
    /// <remarks>Near is a name that differs in letter case alone, has the same last part behind a colon, or can be made
    /// of the wrong one by changing at most a third of its letters, at most four.</remarks>
    public static string? Find(string wrong, IEnumerable<string> names)
    {
        string[] all = [.. names];
        if (all.FirstOrDefault(name => name.Equals(wrong, StringComparison.OrdinalIgnoreCase)) is { } same)
            return same;
        string ending = ":" + wrong;
        if (all.Where(name => name.EndsWith(ending, StringComparison.OrdinalIgnoreCase)).ToArray() is [{ } only])
            return only;
        int most = Math.Clamp(wrong.Length / 3, 1, 4);
        return all
            .Select(name => (Name: name, Changes: CountChanges(wrong.ToUpperInvariant(), name.ToUpperInvariant())))
            .Where(one => one.Changes <= most)
            .OrderBy(static one => one.Changes)
            .ThenBy(static one => one.Name, StringComparer.Ordinal)
            .Select(static one => one.Name)
            .FirstOrDefault();
    }

    /// <summary>Letters added, left out, replaced, or swapped with the next one: the optimal string alignment
    /// distance.</summary>
    public static int CountChanges(string one, string other)
    {
        int[,] changes = new int[one.Length + 1, other.Length + 1];
        for (int i = 0; i <= one.Length; i++)
            changes[i, 0] = i;
        for (int j = 0; j <= other.Length; j++)
            changes[0, j] = j;
        for (int i = 1; i <= one.Length; i++)
        {
            for (int j = 1; j <= other.Length; j++)
            {
                int least = Math.Min(changes[i - 1, j] + 1, changes[i, j - 1] + 1);
                least = Math.Min(least, changes[i - 1, j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1));
                if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                    least = Math.Min(least, changes[i - 2, j - 2] + 1);
                changes[i, j] = least;
            }
        }

        return changes[one.Length, other.Length];
    }
}
