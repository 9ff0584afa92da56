using System.Globalization;
using Spectre.Console;

namespace EQueue.Cli.Output;

/// <summary>Prints rows: a table on a terminal, tab-separated lines elsewhere. A cell is one cell, whatever it
/// holds.</summary>
internal static class TableWriter
{
    public static void Write(CliStreams streams, IReadOnlyList<string> columns, IReadOnlyList<string[]> rows)
    {
        using var writer = new StreamWriter(streams.Output, leaveOpen: true) { NewLine = "\n" };
        if (!streams.IsTerminal)
        {
            foreach (string[] row in rows)
                writer.WriteLine(string.Join('\t', row.Select(TerminalText.OneLine)));
            return;
        }

        Table table = new Table().Border(TableBorder.Rounded);
        foreach (string column in columns)
            table.AddColumn(new TableColumn(Markup.Escape(column)));
        foreach (string[] row in rows)
            table.AddRow([.. row.Select(cell => Markup.Escape(TerminalText.OneLine(cell)))]);
        IAnsiConsole console = AnsiConsole.Create(new AnsiConsoleSettings { Out = new AnsiConsoleOutput(writer) });
        console.Write(table);
    }

    /// <summary>An age in ms: for people in their units, elsewhere the number; <c>-</c> below 0, which is not
    /// known.</summary>
    public static string Age(long milliseconds, CliStreams streams) => milliseconds < 0 ? "-"
        : streams.IsTerminal ? HumanText.Time(TimeSpan.FromMilliseconds(milliseconds)) : Cell(milliseconds);

    /// <summary>A number as it stands in a row: digits alone, whatever the machine's culture.</summary>
    public static string Cell(long value) => value.ToString(CultureInfo.InvariantCulture);
}
