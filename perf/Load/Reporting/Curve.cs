using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace EQueue.Load.Reporting;

/// <summary>Some lines over one axis, to be drawn with gnuplot.</summary>
/// <param name="Name">Of its files, without an ending.</param>
/// <param name="Lines">Their titles; the values of each point are its x and then one for each line.</param>
internal sealed record Curve(
    string Name,
    string Title,
    string XLabel,
    string YLabel,
    IReadOnlyList<string> Lines,
    IReadOnlyList<IReadOnlyList<double?>> Points)
{
    private const int DrawTimeoutMs = 30_000;

    /// <summary>Points that no line joins.</summary>
    public bool IsPoints { get; init; }

    /// <summary>
    /// Writes data and scripts into a directory, which is made if it is not there; draws SVG where gnuplot is there.
    /// </summary>
    /// <exception cref="LoadException">The files cannot be written.</exception>
    public static void Write(string directory, IReadOnlyList<Curve> curves)
    {
        try
        {
            Directory.CreateDirectory(directory);
            foreach (var curve in curves)
            {
                File.WriteAllText(Path.Combine(directory, $"{curve.Name}.dat"), curve.ToTable());
                File.WriteAllText(Path.Combine(directory, $"{curve.Name}.gnuplot"), curve.ToScript());
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw LoadException.Failed($"the curves cannot be written to {directory}: {exception.Message}", exception);
        }

        try
        {
            foreach (var curve in curves)
                Draw(directory, curve.Name);
        }
        catch (Win32Exception)
        {
            LoadSession.Say($"gnuplot is not there: the curves in {directory} are not drawn");
        }
    }

    /// <summary>A line of numbers for each point; what was not measured is <c>NaN</c>: gnuplot leaves it out.</summary>
    public string ToTable()
    {
        var text = new StringBuilder();
        text.Append("# ").Append(XLabel).Append('\t').AppendJoin('\t', Lines).Append('\n');
        foreach (var point in Points)
        {
            var words = point.Select(value => (value ?? double.NaN).ToString("0.###", CultureInfo.InvariantCulture));
            text.AppendJoin('\t', words).Append('\n');
        }

        return text.ToString();
    }

    public string ToScript()
    {
        var style = IsPoints ? "points" : "linespoints";
        var lines = Lines.Select((line, i) => $"'{Name}.dat' using 1:{i + 2} with {style} title '{line}'");
        return $"""
            set terminal svg size 900,540
            set output '{Name}.svg'
            set title '{Title}'
            set xlabel '{XLabel}'
            set ylabel '{YLabel}'
            set yrange [0:*]
            set key below
            set grid
            plot {string.Join(", \\\n     ", lines)}

            """;
    }

    private static void Draw(string directory, string name)
    {
        var start = new ProcessStartInfo("gnuplot", [$"{name}.gnuplot"])
        {
            WorkingDirectory = directory,
            UseShellExecute = false,
        };
        using var gnuplot = Process.Start(start)!;
        if (!gnuplot.WaitForExit(DrawTimeoutMs))
        {
            gnuplot.Kill();
            LoadSession.Say($"gnuplot did not end: {name}.svg is not drawn");
        }
        else if (gnuplot.ExitCode != 0)
        {
            LoadSession.Say($"gnuplot ended with {gnuplot.ExitCode}: {name}.svg is not drawn");
        }
    }
}
