using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;
using EQueue.Broker;

namespace EQueue.Server.Security;

/// <summary>The line of a record: one JSON object of ASCII characters, whatever peers call themselves.</summary>
/// <remarks>
/// <code>
/// time       when, UTC, as 2026-11-27T06:46:56.1234567Z
/// seq        the record's number since the start, from 1
/// principal  who, as rules name it; "" = the peer was not admitted
/// address    from where
/// client     what the peer calls itself
/// operation  what was asked
/// resource   with what, such as topic:orders; "" = nothing of a name
/// outcome    done, or the name of the error
/// detail     before and after, or the reason
/// </code>
/// </remarks>
internal static class AuditLine
{
    private const string Done = "done";
    private const string Cut = "...";

    /// <summary>Characters of a name that are written.</summary>
    private const int MostName = 1_024;

    private const int MostDetail = 8_192;

    /// <summary>What is not a letter of ASCII is escaped: a terminal that shows the file does nothing but show
    /// it.</summary>
    private static readonly JsonWriterOptions Options = new() { Encoder = JavaScriptEncoder.Default };

    /// <summary>A record with texts of the length that is written.</summary>
    public static AuditRecord Bound(in AuditRecord record) => record with
    {
        Principal = Bound(record.Principal, MostName),
        Address = Bound(record.Address, MostName),
        Client = Bound(record.Client, MostName),
        Operation = Bound(record.Operation, MostName),
        Resource = Bound(record.Resource, MostName),
        Detail = Bound(record.Detail, MostDetail),
    };

    /// <summary>What a record takes of the memory for those that wait; its object counts too.</summary>
    public static int CharsOf(in AuditRecord record) =>
        128 + record.Principal.Length + record.Address.Length + record.Client.Length + record.Operation.Length
        + record.Resource.Length + record.Detail.Length;

    /// <summary>The line, its end included.</summary>
    public static byte[] Encode(long number, in AuditRecord record)
    {
        var bytes = new ArrayBufferWriter<byte>(512);
        using (var writer = new Utf8JsonWriter(bytes, Options))
        {
            writer.WriteStartObject();
            writer.WriteString("time", record.Time.UtcDateTime);
            writer.WriteNumber("seq", number);
            writer.WriteString("principal", record.Principal);
            writer.WriteString("address", record.Address);
            writer.WriteString("client", record.Client);
            writer.WriteString("operation", record.Operation);
            writer.WriteString("resource", record.Resource);
            writer.WriteString("outcome", record.Outcome == ErrorCode.None ? Done : record.Outcome.ToString());
            writer.WriteString("detail", record.Detail);
            writer.WriteEndObject();
        }

        bytes.Write("\n"u8);
        return bytes.WrittenSpan.ToArray();
    }

    private static string Bound(string? text, int most) =>
        text is null ? "" : text.Length <= most ? text : text[..most] + Cut;
}
