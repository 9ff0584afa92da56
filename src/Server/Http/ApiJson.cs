using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace EQueue.Server.Http;

/// <summary>How the API's bodies are read and written.</summary>
internal static class ApiJson
{
    public const string ContentType = "application/json; charset=utf-8";
    public const string ProblemType = "application/problem+json; charset=utf-8";

    /// <summary>Strict: no unknown or repeated member, nothing left out that is needed, no number as text.</summary>
    public static JsonSerializerOptions Options { get; } = Create();

    /// <summary>For a writer that is made by hand.</summary>
    public static JsonWriterOptions WriterOptions { get; } =
        new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping, SkipValidation = true };

    /// <summary>The same for writing alone: long texts go out in pieces. There is no schema of them.</summary>
    public static JsonSerializerOptions Writing { get; } = CreateWriting();

    private static JsonSerializerOptions CreateWriting()
    {
        var options = new JsonSerializerOptions(Options);
        options.Converters.Add(new LongTextConverter());
        options.Converters.Add(new LongBytesConverter());
        options.MakeReadOnly(populateMissingResolver: true);
        return options;
    }

    private static JsonSerializerOptions Create()
    {
        var options = new JsonSerializerOptions(JsonSerializerDefaults.Strict)
        {
            PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
            Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
            MaxDepth = 16,
        };
        options.Converters.Add(new JsonStringEnumConverter(JsonNamingPolicy.CamelCase, allowIntegerValues: false));
        options.MakeReadOnly(populateMissingResolver: true);
        return options;
    }
}
