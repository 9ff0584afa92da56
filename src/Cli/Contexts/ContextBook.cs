using EQueue.Cli.Input;

namespace EQueue.Cli.Contexts;

/// <summary>What the file of contexts holds.</summary>
internal sealed record ContextBook
{
    /// <summary>The name of the one in use; null = none.</summary>
    public string? Current { get; init; }

    /// <summary>All by name.</summary>
    public SortedDictionary<string, NamedContext> Contexts { get; init; } = new(StringComparer.Ordinal);

    /// <exception cref="NothingFoundException">There is no context of that name.</exception>
    public NamedContext Demand(string name) => Contexts.TryGetValue(name, out NamedContext? found)
        ? found
        : throw new NothingFoundException(
            $"There is no context '{name}': "
            + (Contexts.Count == 0 ? "there are none."
                : $"there are {string.Join(", ", Contexts.Keys)}. {Nearest.Ask(name, Contexts.Keys)}".TrimEnd()));
}
