using System.Text.Json.Nodes;

namespace EQueue.Server.Http;

/// <summary>A parameter of the query, as the API's description tells it.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Description">What it is for.</param>
/// <param name="Schema">Its JSON schema; made anew for each document.</param>
internal sealed record ApiParameter(string Name, string Description, Func<JsonObject> Schema)
{
    public bool IsRequired { get; init; }

    public static ApiParameter Text(string name, string description) => new(name, description, OfText);

    public static ApiParameter Flag(string name, string description) =>
        new(name, description, static () => new JsonObject { ["type"] = "boolean" });

    public static ApiParameter Choice(string name, string description, params string[] values) => new(
        name,
        description,
        () => new JsonObject
        {
            ["type"] = "string",
            ["enum"] = new JsonArray([.. values.Select(static value => (JsonNode)value)]),
        });

    public static ApiParameter Number(string name, string description, long least, long most, long? usual = null) =>
        new(name, description, () =>
        {
            var schema = new JsonObject { ["type"] = "integer", ["minimum"] = least, ["maximum"] = most };
            if (usual is { } value)
                schema["default"] = value;
            return schema;
        });

    /// <summary>A part of the path, by its name.</summary>
    public static ApiParameter OfPath(string name) => name switch
    {
        "queue" => Number(name, "The number of a queue of the topic", 0, int.MaxValue) with { IsRequired = true },
        "offset" => Number(name, "The offset of a message", 0, long.MaxValue) with { IsRequired = true },
        _ => Text(name, $"The name of a {name}") with { IsRequired = true },
    };

    private static JsonObject OfText() => new() { ["type"] = "string" };
}
