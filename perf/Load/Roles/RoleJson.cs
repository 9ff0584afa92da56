using System.Text.Json;

namespace EQueue.Load.Roles;

/// <summary>How commands and answers are written on the lines between the load program and its roles.</summary>
internal static class RoleJson
{
    public static JsonSerializerOptions Options { get; } = new(JsonSerializerDefaults.Web);

    public static JsonElement Nothing { get; } = JsonSerializer.SerializeToElement<object?>(null);

    public static T Read<T>(JsonElement element) =>
        element.Deserialize<T>(Options) ?? throw new JsonException($"a {typeof(T).Name} was expected, found {element}");
}

/// <summary>One line from the load program to a role.</summary>
internal sealed record RoleCommand(string Name, JsonElement Argument);

/// <summary>One line from a role to the load program.</summary>
/// <param name="Error">Null when the command was carried out.</param>
/// <param name="ExitCode">What the load program should end with if it cannot go on.</param>
internal sealed record RoleAnswer(string? Error, int ExitCode, JsonElement Result);
