using System.Collections.Concurrent;
using System.ComponentModel;
using System.Text.Json.Nodes;
using System.Text.Json.Schema;

namespace EQueue.Server.Http;

/// <summary>The JSON schemas of the API's bodies, made from their types.</summary>
internal static class ApiSchemas
{
    private static readonly ConcurrentDictionary<Type, JsonNode> Known = new();

    private static readonly JsonSchemaExporterOptions ExporterOptions = new()
    {
        TreatNullObliviousAsNonNullable = true,
        TransformSchemaNode = Complete,
    };

    /// <summary>The schema of a type; not to be changed.</summary>
    public static JsonNode Of(Type type) =>
        Known.GetOrAdd(type, static type => ApiJson.Options.GetJsonSchemaAsNode(type, ExporterOptions));

    /// <summary>What a schema allows, for people.</summary>
    public static string Describe(JsonNode schema)
    {
        if (schema["enum"] is JsonArray values)
            return string.Join(", ", values.Select(static value => value?.ToString() ?? "null"));
        string[] types = schema["type"] switch
        {
            JsonArray several => [.. several.Select(static one => (string)one!)],
            JsonValue one => [(string)one!],
            _ => ["any value"],
        };
        if (types.Contains("object"))
        {
            string members = string.Join(
                ", ", (schema["properties"] as JsonObject ?? []).Select(static member => member.Key));
            return $"an object of {members}";
        }

        return string.Join(" or ", types.Select(type => DescribeOne(type, schema)));
    }

    private static string DescribeOne(string type, JsonNode schema) => type switch
    {
        "string" => (string?)schema["format"] == "date-time" ? "a time in ISO 8601" : "a text",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => type,
    };

    /// <summary>Adds what the types alone do not say: descriptions, and that nothing else may be there.</summary>
    private static JsonNode Complete(JsonSchemaExporterContext context, JsonNode schema)
    {
        if (schema is not JsonObject members)
            return schema;
        if (context.PropertyInfo?.AttributeProvider is { } property
            && property.GetCustomAttributes(typeof(DescriptionAttribute), inherit: false) is
                [DescriptionAttribute described, ..])
        {
            members["description"] = described.Description;
        }

        return schema;
    }
}
