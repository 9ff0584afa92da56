using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace EQueue.Load.Reporting;

/// <summary>How a <see cref="Curve"/> is drawn.</summary>
internal enum CurveStyle
{
    Lines,

    /// <summary>Points that no line joins.</summary>
    Points,

    /// <summary>A group of bars for each point; its x is the name of the group.</summary>
    Bars,

    /// <summary>x is 1 / (1 - share of what is not above y), so that each further nine takes as much room.</summary>
    Percentiles,
}

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

    public CurveStyle Style { get; init; }

    /// <summary>
    /// Writes data and scripts into a directory, which is made if it is not there; draws SVG where gnuplot is there.
    /// </summary>
    /// <returns>The curves that were drawn: each has a file of its name and <c>.svg</c>.</returns>
    /// <exception cref="LoadException">The files cannot be written.</exception>
    public static IReadOnlyList<Curve> Write(string directory, IReadOnlyList<Curve> curves)
    {
        try
        {
            Directory.CreateDirectory(directory);
            foreach (Curve curve in curves)
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
            return [.. curves.Where(curve => TryDraw(directory, curve.Name))];
        }
        catch (Win32Exception)
        {
            LoadSession.Say($"gnuplot is not there: the curves in {directory} are not drawn");
            return [];
        }
    }

    /// <summary>A line of numbers for each point; what was not measured is <c>NaN</c>: gnuplot leaves it out.</summary>
    public string ToTable()
    {
        var text = new StringBuilder();
        text.Append("# ").Append(XLabel).Append('\t').AppendJoin('\t', Lines).Append('\n');
        foreach (IReadOnlyList<double?> point in Points)
        {
            IEnumerable<string> words = point.Select(value => (value ?? double.NaN).ToString("0.###", CultureInfo.InvariantCulture));
            text.AppendJoin('\t', words).Append('\n');
        }

        return text.ToString();
    }

    public string ToScript()
    {
        string how = Style switch
        {
            CurveStyle.Points => "with points ",
            CurveStyle.Bars => string.Empty,
            CurveStyle.Percentiles => "with lines ",
            _ => "with linespoints ",
        };
        IEnumerable<string> lines = Lines.Select((line, i) =>
            $"'{Name}.dat' using {Columns(i)} {how}title '{Quoted(line)}'");
        return $"""
            set terminal svg size 900,540 noenhanced
            set output '{Name}.svg'
            set title '{Quoted(Title)}'
            set xlabel '{Quoted(XLabel)}'
            set ylabel '{Quoted(YLabel)}'
            {Axes()}
            set key below
            set grid
            plot {string.Join(", \\\n     ", lines)}

            """;
    }

    private string Columns(int line) => Style == CurveStyle.Bars ? $"{line + 2}:xtic(1)" : $"1:{line + 2}";

    private string Axes() => Style switch
    {
        CurveStyle.Bars => "set yrange [0:*]\nset style data histograms\nset style fill solid 0.8 border -1",
        CurveStyle.Percentiles =>
            "set logscale xy\n"
            + "set xtics ('0 %%' 1, '50 %%' 2, '90 %%' 10, '99 %%' 100, '99.9 %%' 1000, '99.99 %%' 10000, "
            + "'99.999 %%' 100000)",
        _ => "set yrange [0:*]",
    };

    private static string Quoted(string text) => text.Replace("'", "''", StringComparison.Ordinal);

    private static bool TryDraw(string directory, string name)
    {
        var start = new ProcessStartInfo("gnuplot", [$"{name}.gnuplot"])
        {
            WorkingDirectory = directory,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        using Process gnuplot = Process.Start(start)!;

        // It warns of what is no fault, such as a line of one point.
        Task<string> errors = gnuplot.StandardError.ReadToEndAsync();
        if (!gnuplot.WaitForExit(DrawTimeoutMs))
        {
            gnuplot.Kill();
            LoadSession.Say($"gnuplot did not end: {name}.svg is not drawn");
            return false;
        }

        if (gnuplot.ExitCode == 0)
            return true;
        LoadSession.Say($"gnuplot ended with {gnuplot.ExitCode}: {name}.svg is not drawn\n{errors.Result}");
        File.Delete(Path.Combine(directory, $"{name}.svg"));
        return false;
    }
}
