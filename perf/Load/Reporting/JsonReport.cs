using System.Text.Json;
using System.Text.Json.Nodes;

namespace EQueue.Load.Reporting;

/// <summary>The report as JSON: every key always present, null with a note where nothing was measured.</summary>
internal static class JsonReport
{
    private const int SchemaVersion = 1;

    private static readonly JsonSerializerOptions Indented = new() { WriteIndented = true };

    public static string Write(LoadReport report)
    {
        var root = new JsonObject
        {
            ["schema"] = SchemaVersion,
            ["scenario"] = report.Scenario,
            ["commit"] = report.Commit,
            ["machine"] = new JsonObject
            {
                ["cpus"] = report.CpuCount,
                ["memoryBytes"] = report.MemoryBytes,
                ["kernel"] = report.Kernel,
            },
            ["rows"] = new JsonArray([.. RowsOf(report)]),
        };
        if (report.Failures.Count > 0)
            root["failures"] = new JsonArray([.. report.Failures.Select(failure => JsonValue.Create(failure))]);
        if (report.Commit is null)
            root["notes"] = new JsonObject { ["commit"] = "not built in a git checkout" };
        return root.ToJsonString(Indented);
    }

    /// <summary>The rows; of several scenarios in one report each says whose it is.</summary>
    private static IEnumerable<JsonObject> RowsOf(LoadReport report) => report.Rows.Select(row => Row(row, null))
        .Concat(report.Sections.SelectMany(section => section.Rows.Select(row => Row(row, section.Scenario))));

    private static JsonObject Row(ReportRow row, string? scenario)
    {
        var parameters = new JsonObject();
        if (scenario is not null)
            parameters["scenario"] = scenario;
        foreach ((string name, object? value) in row.Parameters)
            parameters[name] = JsonSerializer.SerializeToNode(value);
        var json = new JsonObject
        {
            ["params"] = parameters,
            ["runs"] = new JsonArray([.. row.Runs.Select(run => Measured(run, row.RestNote))]),
        };
        foreach ((string name, JsonNode? value) in Measured(row.Medians, row.RestNote).ToArray())
            json[name] = value?.DeepClone();
        return json;
    }

    private static JsonObject Measured(Figures figures, string restNote)
    {
        var json = new JsonObject();
        var notes = new JsonObject();
        foreach (string name in FigureNames.All)
        {
            string[] path = name.Split('.');
            JsonObject place = json;
            foreach (string group in path[..^1])
                place = (JsonObject)(place[group] ??= new JsonObject());
            if (name == FigureNames.ReferenceValue)
                place["system"] = figures.ReferenceSystem;
            place[path[^1]] = figures[name] is { } value ? Number(value) : null;
            if (figures[name] is null)
                notes[name] = NoteOf(figures, name) ?? restNote;
        }

        json[FigureNames.SubscriberPerSecond] = figures.SubscriberPerSecond is { } rates
            ? new JsonArray([.. rates.Select(rate => (JsonNode)Number(rate))])
            : null;
        if (figures.SubscriberPerSecond is null)
            notes[FigureNames.SubscriberPerSecond] = NoteOf(figures, FigureNames.SubscriberPerSecond) ?? restNote;
        json["notes"] = notes;
        return json;
    }

    /// <summary>The note of the figure itself, else of the nearest group that has one.</summary>
    private static string? NoteOf(Figures figures, string name)
    {
        for (string path = name; ; path = path[..path.LastIndexOf('.')])
        {
            if (figures.Notes.TryGetValue(path, out string? note))
                return note;
            if (!path.Contains('.'))
                return null;
        }
    }

    private static JsonValue Number(double value) => value == Math.Floor(value) && Math.Abs(value) < 1e15
        ? JsonValue.Create((long)value)
        : JsonValue.Create(Math.Round(value, 4));
}
