using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>What becomes of a run whose messages were wrong.</summary>
internal static class Verdict
{
    /// <summary>Lets a right run pass; of a wrong one only what was wrong is reported.</summary>
    /// <param name="parameters">Of the row that the run belongs to.</param>
    /// <param name="restNote">Why other figures were not measured.</param>
    /// <exception cref="LoadException">The messages were wrong; the row says so without any rate.</exception>
    public static void Demand(
        LoadSession session,
        IReadOnlyList<(string Name, object? Value)> parameters,
        Figures figures,
        string restNote)
    {
        if (FigureNames.Faults.All(name => figures[name] is null or 0))
            return;
        figures.Discredit();
        session.Report.Add(new ReportRow(parameters, [figures], restNote));
        throw LoadException.WrongData(
            $"wrong data: {figures[FigureNames.Missing] ?? 0} missing, "
            + $"{figures[FigureNames.Duplicated] ?? 0} duplicated, "
            + $"{figures[FigureNames.Reordered] ?? 0} reordered, {figures[FigureNames.Damaged] ?? 0} damaged, "
            + $"{figures[FigureNames.Unstored] ?? 0} not in the log's files, "
            + $"of {figures[FigureNames.Messages]} messages");
    }
}
