namespace EQueue.Load.Scenarios;

/// <summary>Something worth measuring. One class per scenario, listed in <see cref="ScenarioList"/>.</summary>
internal interface IScenario
{
    /// <summary>The word on the command line.</summary>
    string Name { get; }

    /// <summary>What is measured, in one line, with the defaults that are the scenario's own.</summary>
    string Summary { get; }

    /// <summary>Measures and adds rows to the session's report.</summary>
    /// <exception cref="LoadException">Ends the program with the exit code that it names.</exception>
    Task RunAsync(LoadSession session, CancellationToken cancellationToken);
}
