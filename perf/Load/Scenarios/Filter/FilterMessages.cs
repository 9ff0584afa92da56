using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>A stream of tagged messages, in the order of their sequences.</summary>
internal sealed record FilterOrder(
    string Server, string Topic, int Queues, long Messages, int Size, int Seed, uint Run, int InFlight, int RunLength);

/// <summary>What was sent and acknowledged.</summary>
internal sealed record FilterSendResult(double Seconds, ProcessFigures Start, ProcessFigures End);

/// <summary>Reads the stream from its begin to its end, once.</summary>
/// <param name="OnlyWanted">Asks for the wanted tag alone; else for every message.</param>
internal sealed record FilterReadOrder(FilterOrder Stream, bool OnlyWanted, Faults Faults);

/// <summary>What a reading gave.</summary>
/// <param name="Messages">That it handed out.</param>
/// <param name="Seconds">Until the reader knew that nothing more comes.</param>
/// <param name="FetchedBytes">Of entries that the broker sent it.</param>
internal sealed record FilterReadResult(
    long Messages, double Seconds, long FetchedBytes, CheckResult Check, ProcessFigures Start, ProcessFigures End);
