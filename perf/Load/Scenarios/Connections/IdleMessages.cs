namespace EQueue.Load.Scenarios;

/// <summary>Opens so many connections to a broker.</summary>
/// <param name="Source">The address of this machine that they come from: each has its own ports.</param>
internal sealed record IdleOrder(string Server, string Source, int Count);

/// <summary>How far that came.</summary>
/// <param name="Seconds">From the first of them to the last answer.</param>
/// <param name="EndedBy">What ended it before all were open; null: nothing.</param>
internal sealed record IdleOpened(int Count, double Seconds, string? EndedBy);

/// <summary>What became of the connections since.</summary>
/// <param name="Lost">Ended by the broker.</param>
/// <param name="WrongFrames">Frames that were not asked for, other than keep-alives.</param>
/// <param name="Answered">Keep-alives of the broker that were answered.</param>
internal sealed record IdleState(int Open, long Lost, long WrongFrames, long Answered);
