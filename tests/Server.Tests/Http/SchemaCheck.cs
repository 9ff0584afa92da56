using System.Globalization;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace EQueue.Server.Tests.Http;

/// <summary>Holds JSON against a schema: the part of JSON Schema that the API's description uses, and strict: a member
/// that the schema does not name is a fault.</summary>
internal static class SchemaCheck
{
    private static readonly string[] Understood =
    [
        "type", "enum", "properties", "required", "items", "additionalProperties", "format", "description", "default",
        "minimum", "maximum",
    ];

    /// <returns>What does not fit, each with its place.</returns>
    public static IEnumerable<string> Find(JsonNode? value, JsonNode schema, string at = "$")
    {
        if (schema is JsonValue)
            return (bool)schema! ? [] : [$"{at}: nothing is allowed here"];
        JsonObject rules = schema.AsObject();
        string[] unknown = [.. rules.Select(rule => rule.Key).Except(Understood)];
        if (unknown.Length > 0)
            return [$"{at}: the schema says {string.Join(", ", unknown)}, which this check does not know"];
        if (rules["enum"] is JsonArray values)
            return values.Any(one => JsonNode.DeepEquals(one, value)) ? [] : [$"{at}: {value} is none of {values}"];
        string[] types = rules["type"] switch
        {
            JsonArray several => [.. several.Select(one => (string)one!)],
            JsonValue one => [(string)one!],
            _ => [],
        };
        if (types.Length > 0 && !types.Any(type => IsOf(value, type)))
            return [$"{at}: {value?.ToJsonString() ?? "null"} is no {string.Join(" or ", types)}"];
        return value switch
        {
            JsonObject members => FindInMembers(members, rules, at),
            JsonArray items when rules["items"] is { } rule =>
                items.SelectMany((item, index) => Find(item, rule, $"{at}[{index}]")),
            JsonValue text when (string?)rules["format"] == "date-time" => IsTime((string)text!) ? [] : [$"{at}: no time"],
            _ => [],
        };
    }

    private static IEnumerable<string> FindInMembers(JsonObject members, JsonObject rules, string at)
    {
        foreach (JsonNode? name in rules["required"] as JsonArray ?? [])
        {
            if (!members.ContainsKey((string)name!))
                yield return $"{at}.{name} is missing";
        }

        foreach ((string name, JsonNode? value) in members)
        {
            JsonNode? rule = rules["properties"]?[name] ?? (rules["additionalProperties"] is JsonObject other ? other : null);
            bool isOpen = rules["properties"] is null && rules["additionalProperties"] is null;
            if (rule is null && isOpen)
                continue;
            if (rule is null)
            {
                yield return $"{at}.{name} is not described";
                continue;
            }

            foreach (string fault in Find(value, rule, $"{at}.{name}"))
                yield return fault;
        }
    }

    private static bool IsOf(JsonNode? value, string type) => (value?.GetValueKind() ?? JsonValueKind.Null) switch
    {
        JsonValueKind.Null => type == "null",
        JsonValueKind.Object => type == "object",
        JsonValueKind.Array => type == "array",
        JsonValueKind.String => type == "string",
        JsonValueKind.True or JsonValueKind.False => type == "boolean",
        _ => type == "number" || (type == "integer" && value!.ToJsonString().All(c => char.IsDigit(c) || c == '-')),
    };

    private static bool IsTime(string text) => text.EndsWith('Z')
        && DateTimeOffset.TryParse(text, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out _);
}
