using System.Text.Encodings.Web;
using System.Text.Json;

namespace EQueue.Cli.Output;

/// <summary>How JSON lines are written.</summary>
internal static class JsonText
{
    /// <summary>One line; only what JSON itself needs is escaped.</summary>
    public static JsonWriterOptions Options { get; } = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };
}
