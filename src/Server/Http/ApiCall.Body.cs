using System.Text.Json;
using System.Text.Json.Nodes;
using EQueue.Server.Configuration;
using Microsoft.Net.Http.Headers;

namespace EQueue.Server.Http;

/// <content>Reading the body, and saying what is wrong with it.</content>
internal sealed partial class ApiCall
{
    private const int MostShown = 100;

    /// <summary>The body as JSON.</summary>
    /// <exception cref="ApiException">It is none, or does not fit.</exception>
    public async Task<T> ReadBodyAsync<T>()
        where T : class
    {
        if (!MediaTypeHeaderValue.TryParse(Http.Request.ContentType, out MediaTypeHeaderValue? type)
            || !type.MediaType.Equals("application/json", StringComparison.OrdinalIgnoreCase))
        {
            var problem = ApiProblem.OfValue("Content-Type", Http.Request.ContentType, "application/json");
            throw new ApiException(problem with { Status = StatusCodes.Status415UnsupportedMediaType });
        }

        using var body = new MemoryStream((int)Math.Min(Http.Request.ContentLength ?? 0, options.MaxBodyBytes));
        await Http.Request.Body.CopyToAsync(body, Token);
        ReadOnlyMemory<byte> bytes = body.GetBuffer().AsMemory(0, (int)body.Length);
        try
        {
            return JsonSerializer.Deserialize<T>(bytes.Span, ApiJson.Options)
                ?? throw ApiException.OfValue("the body", "null", "an object");
        }
        catch (JsonException exception)
        {
            throw Explain(exception, bytes, typeof(T));
        }
    }

    private static ApiException Explain(JsonException exception, ReadOnlyMemory<byte> body, Type type)
    {
        try
        {
            return Explain(JsonNode.Parse(body.Span), exception.Path ?? "$", type);
        }
        catch (JsonException)
        {
            return Unreadable($"The body is no JSON. {JsonPlace.Explain(exception) ?? exception.Message}");
        }
        catch (Exception inner) when (inner is ArgumentException or InvalidOperationException)
        {
            // A repeated member, or text that is no Unicode: there is no looking through such a body.
            return Unreadable($"The body cannot be read. {JsonPlace.Explain(exception) ?? exception.Message}");
        }
    }

    private static ApiException Unreadable(string detail) => new(ApiProblem.Of(ErrorCode.InvalidArgument, detail) with
    {
        What = "the body",
        Allowed = "JSON",
    });

    /// <summary>What is wrong at a path of a body that is JSON.</summary>
    private static ApiException Explain(JsonNode? found, string path, Type type)
    {
        JsonNode schema = ApiSchemas.Of(type);
        if (FindMissing(found, schema, "$") is { } missing)
        {
            JsonNode? wanted = Follow(found, schema, missing).Rule;
            return ApiException.OfValue(missing[2..], null, wanted is null ? "required" : ApiSchemas.Describe(wanted));
        }

        if (FindUnknown(found, schema, "$") is { } unknown)
            return UnknownMember(unknown.Path, unknown.Known);
        (JsonNode? value, JsonNode? rule) = Follow(found, schema, path);
        string what = path == "$" ? "the body" : path[2..];
        return rule is null
            ? Unreadable($"The body cannot be read at {what}.")
            : ApiException.OfValue(what, Show(value), ApiSchemas.Describe(rule));
    }

    private static ApiException UnknownMember(string path, string[] known)
    {
        string member = path[(path.LastIndexOf('.') + 1)..];
        string place = path.LastIndexOf('.') is > 1 and int end ? $" in {path[2..end]}" : "";
        string allowed = string.Join(", ", known);
        return new ApiException(ApiProblem.Of(
            ErrorCode.InvalidArgument,
            $"unknown member '{member}'{place}: allowed is {allowed}.{NearName.Hint(member, known)}") with
        {
            What = path[2..],
            Allowed = allowed,
        });
    }

    /// <summary>The path of the first member that there is no rule for, and the names that there are.</summary>
    private static (string Path, string[] Known)? FindUnknown(JsonNode? value, JsonNode? schema, string path)
    {
        switch (value)
        {
            case JsonObject members when schema is JsonObject rules && rules["properties"] is JsonObject known:
                string? unknown = members.Select(static one => one.Key)
                    .FirstOrDefault(name => !known.ContainsKey(name));
                return unknown is not null
                    ? ($"{path}.{unknown}", [.. known.Select(static one => one.Key)])
                    : members.Select(one => FindUnknown(one.Value, known[one.Key], $"{path}.{one.Key}"))
                        .FirstOrDefault(static found => found is not null);
            case JsonArray items when schema is JsonObject rules && rules["items"] is { } rule:
                return items.Select((item, index) => FindUnknown(item, rule, $"{path}[{index}]"))
                    .FirstOrDefault(static found => found is not null);
            default:
                return null;
        }
    }

    /// <summary>The path of the first member that is required and not there.</summary>
    private static string? FindMissing(JsonNode? value, JsonNode schema, string path)
    {
        switch (value)
        {
            case JsonObject members when schema is JsonObject rules:
                foreach (JsonNode? name in rules["required"] as JsonArray ?? [])
                {
                    if (!members.ContainsKey((string)name!))
                        return $"{path}.{name}";
                }

                return members
                    .Select(member => rules["properties"]?[member.Key] is { } rule
                        ? FindMissing(member.Value, rule, $"{path}.{member.Key}") : null)
                    .FirstOrDefault(static missing => missing is not null);
            case JsonArray items when schema is JsonObject { } rules && rules["items"] is { } rule:
                return items
                    .Select((item, index) => FindMissing(item, rule, $"{path}[{index}]"))
                    .FirstOrDefault(static missing => missing is not null);
            default:
                return null;
        }
    }

    /// <summary>What stands at a path such as <c>$.messages[3].key</c>, and its schema; null: no such member.</summary>
    private static (JsonNode? Value, JsonNode? Rule) Follow(JsonNode? value, JsonNode? rule, string path)
    {
        foreach (string part in path.Split('.', '[').Skip(1))
        {
            if (part.EndsWith(']'))
            {
                value = value is JsonArray items && int.TryParse(part[..^1], out int index) && index < items.Count
                    ? items[index] : null;
                rule = rule?["items"];
                continue;
            }

            value = value is JsonObject members ? members[part] : null;
            rule = rule is JsonObject ? rule["properties"]?[part] : null;
        }

        return (value, rule);
    }

    private static string Show(JsonNode? value)
    {
        string text = value is JsonValue single && single.TryGetValue(out string? plain)
            ? plain : value?.ToJsonString(ApiJson.Options) ?? "null";
        return text.Length <= MostShown ? text : text[..MostShown] + "...";
    }
}
