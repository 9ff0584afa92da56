using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Cli.Output;

/// <summary>
/// Prints what a log holds: words for people, or a JSON object a line whose first key says what it is.
/// </summary>
internal sealed class LogWriter(Stream output, bool isJson)
{
    public void WriteStore(LogInspector log)
    {
        if (!isJson)
        {
            WriteLine($"store {log.StoreId} log {log.LogId}");
            return;
        }

        JsonLine.Write(output, json =>
        {
            json.WriteString("store", log.StoreId);
            json.WriteString("log", log.LogId);
        });
    }

    public void Write(SegmentSummary segment)
    {
        string index = segment.IsIndexWhole switch { true => "whole", false => "damaged", null => "none" };
        if (!isJson)
        {
            string header = segment.IsHeaderWhole ? "" : " header damaged";
            WriteLine(
                $"segment {segment.File} position {segment.BasePosition.Value} capacity {segment.Capacity} "
                + $"epoch {segment.Epoch} created {BodyTime.Text(segment.Created)} index {index}{header}");
            return;
        }

        JsonLine.Write(output, json =>
        {
            json.WriteString("segment", segment.File);
            json.WriteNumber("position", segment.BasePosition.Value);
            json.WriteNumber("capacity", segment.Capacity);
            json.WriteNumber("epoch", segment.Epoch);
            json.WriteString("createdTime", BodyTime.Text(segment.Created));
            json.WriteBoolean("headerWhole", segment.IsHeaderWhole);
            json.WriteString("index", index);
        });
    }

    public void WriteSnapshot(LogPosition start, LogPosition end, bool isWhole)
    {
        if (!isJson)
        {
            WriteLine($"snapshot {start.Value} valid to {end.Value}{(isWhole ? "" : " damaged")}");
            return;
        }

        JsonLine.Write(output, json =>
        {
            json.WriteNumber("snapshot", start.Value);
            json.WriteNumber("end", end.Value);
            json.WriteBoolean("whole", isWhole);
        });
    }

    public void Write(EntrySummary entry)
    {
        string time = BodyTime.Text(entry.Stored);
        if (!isJson)
        {
            string records = entry.RecordCount == 0
                ? "" : $" offset {entry.FirstOffset.Value} records {entry.RecordCount}";
            WriteLine(
                $"entry {entry.Position.Value} size {entry.Size} {entry.Kind} queue {entry.Queue.Value} "
                + $"epoch {entry.Epoch} {time}{records}");
            return;
        }

        JsonLine.Write(output, json =>
        {
            json.WriteNumber("entry", entry.Position.Value);
            json.WriteNumber("size", entry.Size);
            json.WriteString("kind", entry.Kind.ToString());
            json.WriteNumber("queueId", entry.Queue.Value);
            json.WriteNumber("epoch", entry.Epoch);
            json.WriteString("storedTime", time);
            json.WriteNumber("flags", (int)entry.Flags);
            json.WriteNumber("firstOffset", entry.FirstOffset.Value);
            json.WriteNumber("records", entry.RecordCount);
            json.WriteNumber("producerId", entry.Producer.Id);
        });
    }

    private void WriteLine(string line) => output.Write(Encoding.UTF8.GetBytes(line + "\n"));
}
