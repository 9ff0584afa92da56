using System.Buffers;
using System.Text;
using System.Text.Json;
using EQueue.MessageStore;

namespace EQueue.Cli.Output;

/// <summary>Tells on standard error why a command failed: a sentence, or JSON with <c>--json</c>.</summary>
internal sealed record ErrorReport(TextWriter Error, bool IsJson)
{
    /// <param name="exception">Why.</param>
    /// <param name="topic">Of which of many topics; null: of all that was asked for.</param>
    /// <param name="next">What to do next; null: nothing is known.</param>
    public void Write(Exception exception, string? topic = null, string? next = null)
    {
        string message = Words.Of(exception);
        if (!IsJson)
        {
            Error.WriteLine(topic is null ? $"equeue: {message}" : $"equeue: {topic}: {message}");
            if (next is not null)
                Error.WriteLine($"next: {next}");
            return;
        }

        var failure = (exception is PartlyDoneException ? exception.InnerException : exception) as EQueueException;
        var bytes = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(bytes, JsonText.Options))
        {
            json.WriteStartObject();
            json.WriteStartObject("error");
            json.WriteString("code", failure?.Code.ToString() ?? CodeOf(exception));
            json.WriteString("message", message);
            json.WriteBoolean("retriable", failure?.IsRetriable ?? false);
            if (topic is not null)
                json.WriteString("topic", topic);
            if (next is not null)
                json.WriteString("next", next);
            json.WriteEndObject();
            json.WriteEndObject();
        }

        Error.WriteLine(Encoding.UTF8.GetString(bytes.WrittenSpan));
    }

    private static string CodeOf(Exception exception) => exception switch
    {
        UsageException => "Usage",
        OperationCanceledException => nameof(ErrorCode.Cancelled),
        DiskException { Fault: DiskFault.Full } => nameof(ErrorCode.StorageFull),
        _ => ExitCode.Of(exception) switch
        {
            ExitCode.NotFound => "NotFound",
            ExitCode.Unreachable => nameof(ErrorCode.Unreachable),
            ExitCode.Refused => "Refused",
            ExitCode.Damaged => nameof(ErrorCode.DamagedData),
            _ => "Failed",
        },
    };
}
