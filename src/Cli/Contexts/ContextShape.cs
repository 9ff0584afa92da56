using System.Text.Json;
using EQueue.Cli.Input;

namespace EQueue.Cli.Contexts;

/// <summary>Whether a file of contexts has the members that one has, each of its kind, and no others: a member that is
/// misspelt would be passed over otherwise, and other servers or no credentials used.</summary>
internal static class ContextShape
{
    private const StringComparison AnyCase = StringComparison.OrdinalIgnoreCase;

    private static readonly string[] OfBook = [.. NamesOf(typeof(ContextBook))];

    private static readonly string[] OfContext = [.. NamesOf(typeof(NamedContext))];

    /// <exception cref="JsonException">It is no JSON, or not of that shape; the message names the place.</exception>
    public static void Check(ReadOnlyMemory<byte> file)
    {
        using var document = JsonDocument.Parse(file);
        JsonElement book = document.RootElement;
        CheckMembers(book, "the file", OfBook);
        foreach (JsonProperty member in book.EnumerateObject())
        {
            if (member.Name.Equals(nameof(ContextBook.Current), AnyCase))
                Demand(member.Value, member.Name, "a text or null", JsonValueKind.String, JsonValueKind.Null);
            else
                CheckContexts(member.Value);
        }
    }

    private static void CheckContexts(JsonElement contexts)
    {
        Demand(contexts, "contexts", "an object", JsonValueKind.Object);
        foreach (JsonProperty context in contexts.EnumerateObject())
        {
            string place = $"the context '{context.Name}'";
            CheckMembers(context.Value, place, OfContext);
            bool hasServer = false;
            foreach (JsonProperty member in context.Value.EnumerateObject())
            {
                string what = $"{member.Name} in {place}";
                if (member.Name.Equals(nameof(NamedContext.Tls), AnyCase))
                {
                    Demand(member.Value, what, "true or false", JsonValueKind.True, JsonValueKind.False);
                    continue;
                }

                bool isServer = member.Name.Equals(nameof(NamedContext.Server), AnyCase);
                hasServer |= isServer;
                if (isServer)
                    Demand(member.Value, what, "a text", JsonValueKind.String);
                else
                    Demand(member.Value, what, "a text or null", JsonValueKind.String, JsonValueKind.Null);
            }

            if (!hasServer)
                throw new JsonException($"{place} has no member 'server'.");
        }
    }

    private static void CheckMembers(JsonElement value, string place, string[] known)
    {
        Demand(value, place, "an object", JsonValueKind.Object);
        foreach (JsonProperty member in value.EnumerateObject())
        {
            if (known.Contains(member.Name, StringComparer.OrdinalIgnoreCase))
                continue;
            string question = Nearest.Ask(member.Name, known) is { } near ? $" {near}" : "";
            throw new JsonException(
                $"unknown member '{member.Name}' in {place}: allowed is {string.Join(", ", known)}.{question}");
        }
    }

    private static void Demand(JsonElement value, string what, string allowed, params JsonValueKind[] kinds)
    {
        if (kinds.Contains(value.ValueKind))
            return;
        string found = value.ValueKind.ToString().ToLowerInvariant();
        throw new JsonException($"{what} is {found}: allowed is {allowed}.");
    }

    private static IEnumerable<string> NamesOf(Type type) =>
        type.GetProperties().Select(static property => JsonNamingPolicy.CamelCase.ConvertName(property.Name));
}
