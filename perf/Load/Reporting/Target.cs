using System.Globalization;

namespace EQueue.Load.Reporting;

/// <summary>Something that a measurement is to reach.</summary>
/// <param name="What">In words.</param>
/// <param name="Must">What it must reach; null: nothing.</param>
/// <param name="Aim">What it should; null: nothing.</param>
/// <param name="Measure">Finds it among the rows; null when it was not measured.</param>
internal sealed record Target(string What, double? Must, double? Aim, Func<MeasuredRows, double?> Measure)
{
    /// <summary>The less the better; else the more.</summary>
    public bool IsAtMost { get; init; }

    /// <summary>The cells of its line in a report: what, must, aim, measured, whether each is reached.</summary>
    public IReadOnlyList<string> Judge(MeasuredRows rows)
    {
        double? measured = Measure(rows);
        return [What, Bound(Must), Bound(Aim), Text(measured), Reached(measured, Must), Reached(measured, Aim)];
    }

    private string Reached(double? measured, double? bound) => (measured, bound) switch
    {
        (_, null) => "-",
        (null, _) => "not measured",
        var (value, limit) => (IsAtMost ? value <= limit : value >= limit) ? "yes" : "**no**",
    };

    private string Bound(double? value) => value is null ? "-" : $"{(IsAtMost ? "<=" : ">=")} {Text(value)}";

    private static string Text(double? value) => value switch
    {
        null => "-",
        >= 1000 => value.Value.ToString("N0", CultureInfo.InvariantCulture),
        _ => value.Value.ToString("0.##", CultureInfo.InvariantCulture),
    };
}
