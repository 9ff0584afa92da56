using System.Globalization;
using System.Text.Json;
using EQueue.MessageStore;

namespace EQueue.Cli.Output;

/// <summary>Prints what a backup, a check of one or a restore has done: sentences or a JSON line.</summary>
internal sealed class BackupWriter(CliStreams streams, bool isJson, string backup)
{
    private readonly Stream _output = streams.Output;

    public void WriteBackup(BackupResult result, string data)
    {
        if (isJson)
        {
            JsonLine.Write(_output, json =>
            {
                WriteWhere(json, data);
                json.WriteNumber("filesCopied", result.FilesCopied);
                json.WriteNumber("bytesCopied", result.BytesCopied);
                json.WriteNumber("filesPresent", result.FilesPresent);
                json.WriteNumber("bytesPresent", result.BytesPresent);
                WritePoint(json, result);
            });
            return;
        }

        WriteLines(
            $"copied {Files(result.FilesCopied, result.BytesCopied)}; "
            + $"there already: {Files(result.FilesPresent, result.BytesPresent)}",
            $"{backup} holds {data} {PointOf(result)}");
    }

    public void WriteRestore(BackupResult result, string data)
    {
        if (isJson)
        {
            JsonLine.Write(_output, json =>
            {
                WriteWhere(json, data);
                WriteFiles(json, result);
                WritePoint(json, result);
            });
            return;
        }

        WriteLines(
            $"restored {Files(result.FilesCopied, result.BytesCopied)}", $"{data} is the broker {PointOf(result)}");
    }

    public void WriteVerification(BackupResult result, IReadOnlyList<string> damaged)
    {
        if (isJson)
        {
            JsonLine.Write(_output, json =>
            {
                WriteWhere(json, data: null);
                WriteFiles(json, result);
                json.WriteStartArray("damaged");
                foreach (string path in damaged)
                    json.WriteStringValue(path);
                json.WriteEndArray();
                WritePoint(json, result);
            });
            return;
        }

        WriteLines(
        [
            $"checked {Files(result.FilesCopied, result.BytesCopied)}, {PointOf(result)}",
            .. damaged.Select(path => $"damaged: {path}"),
            .. damaged.Count == 0 ? ["no damage"] : Array.Empty<string>(),
        ]);
    }

    private void WriteWhere(Utf8JsonWriter json, string? data)
    {
        json.WriteString("backup", backup);
        if (data is not null)
            json.WriteString("data", data);
    }

    private static void WriteFiles(Utf8JsonWriter json, BackupResult result)
    {
        json.WriteNumber("files", result.FilesCopied);
        json.WriteNumber("bytes", result.BytesCopied);
    }

    private static void WritePoint(Utf8JsonWriter json, BackupResult result)
    {
        json.WriteString("storeId", result.StoreId);
        json.WriteString("time", BodyTime.Text(result.Time));
        json.WriteNumber("firstPosition", result.FirstPosition.Value);
        json.WriteNumber("endPosition", result.EndPosition.Value);
    }

    private static string PointOf(BackupResult result) => string.Create(
        CultureInfo.InvariantCulture,
        $"as of {BodyTime.Text(result.Time)}, positions {result.FirstPosition.Value} to {result.EndPosition.Value}");

    private string Files(long count, long bytes) => string.Create(
        CultureInfo.InvariantCulture,
        $"{count} {(count == 1 ? "file" : "files")}, "
        + $"{(streams.IsTerminal ? HumanText.Size(bytes) : $"{bytes} bytes")}");

    private void WriteLines(params IEnumerable<string> lines)
    {
        using var writer = new StreamWriter(_output, leaveOpen: true) { NewLine = "\n" };
        foreach (string line in lines)
            writer.WriteLine(line);
    }
}
