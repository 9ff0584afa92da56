namespace EQueue.Remoting;

/// <summary>What the awaiter of a call sees of it.</summary>
internal static class CallState
{
    /// <summary>The answer is not there.</summary>
    public const int UnderWay = 0;

    /// <summary>The answer is leased.</summary>
    public const int Answered = 1;

    /// <summary>The answer is in the call's cell.</summary>
    public const int AnsweredHere = 2;

    /// <summary>There is an exception.</summary>
    public const int Failed = 3;

    /// <summary>The outcome was handed over.</summary>
    public const int Taken = 4;
}
