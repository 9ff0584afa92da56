namespace EQueue.Load.Scenarios;

/// <summary>Something worth measuring. One class per scenario, listed in <see cref="ScenarioList"/>.</summary>
internal interface IScenario
{
    /// <summary>The word on the command line.</summary>
    string Name { get; }

    /// <summary>The word that it was known by before, which scripts may still use; null: it had no other.</summary>
    string? FormerName => null;

    /// <summary>The flags of the command line that change what is measured.</summary>
    LoadFlags Flags { get; }

    /// <summary>Flags that scripts may give to it although they change nothing.</summary>
    LoadFlags Unused => LoadFlags.NoLimit;

    /// <summary>The parts that <c>--part</c> picks from; empty: it has none.</summary>
    IReadOnlyList<string> Parts => [];

    /// <summary>Whether it has a part of this name.</summary>
    bool HasPart(string part) => Parts.Contains(part);

    /// <summary>What is measured, in one line, with the defaults that are the scenario's own.</summary>
    string Summary { get; }

    /// <summary>Measures and adds rows to the session's report.</summary>
    /// <exception cref="LoadException">Ends the program with the exit code that it names.</exception>
    Task RunAsync(LoadSession session, CancellationToken cancellationToken);
}
