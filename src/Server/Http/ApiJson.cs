using System.IO.Pipelines;
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

    /// <summary>The same for writing alone: long texts go out in pieces. There is no schema of them.</summary>
    private static readonly JsonSerializerOptions Writing = CreateWriting();

    private static readonly PipeOptions Pieces = new(
        pauseWriterThreshold: 0, minimumSegmentSize: 64 << 10, useSynchronizationContext: false);

    /// <summary>A value in pieces of some 64 KiB: no copy is made while it grows.</summary>
    /// <returns>All of it. The caller completes the reader, which gives the memory back.</returns>
    public static async Task<PipeReader> WriteAsync<T>(T value)
    {
        var pieces = new Pipe(Pieces);
        await JsonSerializer.SerializeAsync(pieces.Writer, value, Writing);
        await pieces.Writer.CompleteAsync();
        return pieces.Reader;
    }

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
