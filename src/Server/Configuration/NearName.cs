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
        return NearNames.Within(wrong, all, most).Select(static one => one.Candidate).FirstOrDefault();
    }
}
