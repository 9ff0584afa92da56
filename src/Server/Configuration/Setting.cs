namespace EQueue.Server.Configuration;

/// <summary>One thing that can be set.</summary>
/// <param name="Key">Its place in the configuration, below <c>EQueue</c>: <c>Store:FlushPolicy</c>.</param>
/// <param name="Meaning">What it does, for people.</param>
/// <param name="Allowed">The values it may have, for people.</param>
/// <param name="Read">The options with the value set, or <see langword="null"/> when the value is not allowed.</param>
/// <param name="Show">The value as the options hold it.</param>
internal sealed record Setting(
    string Key,
    string Meaning,
    string Allowed,
    Func<ServerOptions, string, ServerOptions?> Read,
    Func<ServerOptions, string> Show)
{
    /// <summary>Whether a change in a file takes effect while the server runs.</summary>
    public bool IsReloadable { get; init; }

    /// <summary>Of a limit: what it counts. Null = it is none.</summary>
    public string? Unit { get; init; }

    /// <summary>Of a limit: what happens at it.</summary>
    public string AtLimit { get; init; } = "";

    /// <summary>Whether its default is less where there is little memory.</summary>
    public bool FollowsMemory { get; init; }

    /// <summary>The value as people write it in a file, such as <c>4MiB</c> or <c>7d</c>; <see cref="Read"/> takes it.
    /// </summary>
    public Func<ServerOptions, string> Write { get; init; } = Show;
}
