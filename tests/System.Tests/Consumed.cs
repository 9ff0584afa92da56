using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A message as <c>equeue consume --format json</c> prints it.</summary>
internal sealed record Consumed(int Queue, long Offset, string? Key, byte[]? Body, JsonElement Properties, string? Tag)
{
    public static async Task<IReadOnlyList<Consumed>> ReadAsync(string server, string topic, params string[] arguments)
    {
        ProgramResult result = await ProgramRun.RunAsync(
            "Cli", ["consume", topic, "--server", server, "--format", "json", .. arguments]);
        Assert.True(result.ExitCode == 0, $"consume ended with {result.ExitCode}: {result.Error}");
        return [.. result.OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(Parse)];
    }

    private static Consumed Parse(string line)
    {
        JsonElement json = JsonDocument.Parse(line).RootElement;
        JsonElement body = json.GetProperty("body");
        return new Consumed(
            json.GetProperty("queue").GetInt32(),
            json.GetProperty("offset").GetInt64(),
            json.GetProperty("key").GetString(),
            body.ValueKind == JsonValueKind.Null ? null : body.GetBytesFromBase64(),
            json.GetProperty("properties").Clone(),
            json.GetProperty("tag").GetString());
    }
}
