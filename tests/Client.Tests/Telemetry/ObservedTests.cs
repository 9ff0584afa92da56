namespace EQueue.Client.Tests;

/// <summary>Tests with a listener for the whole process: none runs beside another test, whose measurements it would
/// get.</summary>
[CollectionDefinition(nameof(ObservedTests), DisableParallelization = true)]
public sealed class ObservedTests;
