using System.Text.Json.Nodes;

namespace EQueue.Server.Http;

/// <summary>The API's description (OpenAPI 3.1), made from the routes that are served.</summary>
internal static class OpenApiDocument
{
    private const string Token = "token";
    private const string Schemas = "#/components/schemas/";

    public static JsonObject Make(IEnumerable<ApiRoute> routes, string version)
    {
        var paths = new JsonObject();
        var schemas = new JsonObject { [nameof(ApiProblem)] = ApiSchemas.Of(typeof(ApiProblem)).DeepClone() };
        foreach (ApiRoute route in routes)
        {
            if (paths[route.Pattern] is not JsonObject path)
                paths[route.Pattern] = path = [];
            path[route.Method.ToLowerInvariant()] = Describe(route, schemas);
        }

        return new JsonObject
        {
            ["openapi"] = "3.1.0",
            ["info"] = new JsonObject
            {
                ["title"] = "EQueue's admin port",
                ["version"] = version,
                ["description"] = "Each route is an operation of the broker; docs/admin-http.md says the rest.",
            },
            ["paths"] = paths,
            ["components"] = new JsonObject
            {
                ["schemas"] = schemas,
                ["securitySchemes"] = new JsonObject
                {
                    [Token] = new JsonObject { ["type"] = "http", ["scheme"] = "bearer" },
                },
            },

            // Processes of the user who runs the broker need none.
            ["security"] = new JsonArray(new JsonObject { [Token] = new JsonArray() }, new JsonObject()),
        };
    }

    private static JsonObject Describe(ApiRoute route, JsonObject schemas)
    {
        var described = new JsonObject
        {
            ["operationId"] = route.Name,
            ["summary"] = route.Summary,
            ["parameters"] = new JsonArray(
            [
                .. route.Path.Select(static parameter => Describe(parameter, "path")),
                .. route.Query.Select(static parameter => Describe(parameter, "query")),
            ]),
        };
        if (route.RequestType is { } request)
        {
            described["requestBody"] = new JsonObject
            {
                ["required"] = true,
                ["content"] = Content("application/json", Refer(request, schemas)),
            };
        }

        var responses = new JsonObject { [$"{route.Status}"] = DescribeAnswer(route, schemas) };
        if (route.OtherStatus is { } other)
            responses[$"{other}"] = DescribeAnswer(route, schemas);
        if (route.IsProbe)
        {
            described["security"] = new JsonArray();
        }
        else
        {
            responses["default"] = new JsonObject
            {
                ["description"] = "It failed",
                ["content"] = Content(
                    "application/problem+json", new JsonObject { ["$ref"] = Schemas + nameof(ApiProblem) }),
            };
        }

        described["responses"] = responses;
        return described;
    }

    private static JsonObject DescribeAnswer(ApiRoute route, JsonObject schemas)
    {
        var answer = new JsonObject { ["description"] = route.ContentType is null ? "Done" : route.Summary };
        if (route.ContentType is { } type)
        {
            answer["content"] = Content(
                type, route.ResponseType is { } body ? Refer(body, schemas) : new JsonObject { ["type"] = "string" });
        }

        return answer;
    }

    private static JsonObject Describe(ApiParameter parameter, string place) => new JsonObject
    {
        ["name"] = parameter.Name,
        ["in"] = place,
        ["required"] = parameter.IsRequired,
        ["description"] = parameter.Description,
        ["schema"] = parameter.Schema(),
    };

    private static JsonObject Content(string type, JsonObject schema) =>
        new() { [type] = new JsonObject { ["schema"] = schema } };

    private static JsonObject Refer(Type type, JsonObject schemas)
    {
        if (type.IsGenericType || type == typeof(JsonObject))
            return ApiSchemas.Of(type).DeepClone() as JsonObject ?? new JsonObject { ["type"] = "object" };
        if (!schemas.ContainsKey(type.Name))
            schemas[type.Name] = ApiSchemas.Of(type).DeepClone();
        return new JsonObject { ["$ref"] = Schemas + type.Name };
    }
}
