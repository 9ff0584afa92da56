using System.Text.Json.Nodes;

namespace EQueue.Load.Reporting;

/// <summary>The rows of a report as it is written in JSON, to be asked for single figures.</summary>
internal sealed class MeasuredRows
{
    private readonly JsonObject[] _rows;
    private readonly string? _scenario;

    /// <param name="json">What <see cref="JsonReport"/> wrote.</param>
    public MeasuredRows(string json)
    {
        JsonObject report = JsonNode.Parse(json)!.AsObject();
        _scenario = (string?)report["scenario"];
        _rows = [.. report["rows"]!.AsArray().Select(row => row!.AsObject())];
    }

    /// <summary>A figure of the first row that fits; null when there is none, or it was not measured.</summary>
    /// <param name="figure">Its path, as in <see cref="FigureNames"/>.</param>
    /// <param name="parameters">What the row's parameters must be.</param>
    public double? Find(string scenario, string figure, params (string Name, object Value)[] parameters)
    {
        foreach (JsonObject row in _rows)
        {
            JsonObject found = row["params"]!.AsObject();
            if ((string?)(found["scenario"] ?? _scenario) == scenario
                && Array.TrueForAll(parameters, each => found[each.Name]?.ToString() == each.Value.ToString()))
            {
                JsonNode? value = row;
                foreach (string part in figure.Split('.'))
                    value = value?[part];
                return value is null ? null : (double)value;
            }
        }

        return null;
    }
}
