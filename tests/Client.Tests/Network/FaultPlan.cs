using EQueue.Remoting;

namespace EQueue.Client.Tests.Network;

/// <summary>What a hostile network does at a place of a stream.</summary>
internal enum FaultKind
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>Resets both sides.</summary>
    Reset,

    /// <summary>Ends both sides in an orderly way.</summary>
    End,

    /// <summary>Ends this direction alone; what comes after is lost, the other direction continues.</summary>
    HalfEnd,

    /// <summary>Holds everything for a while, and continues.</summary>
    Stall,

    /// <summary>Holds everything for long, and delivers it late, also when the sender has gone away.</summary>
    LateDelivery,

    /// <summary>Takes everything and delivers nothing, without an end.</summary>
    BlackHole,
}

/// <summary>A place of a stream.</summary>
/// <param name="Frame">Which frame, from 0.</param>
/// <param name="At">Bytes of the frame before the place: 0 to 16, <see cref="Inside"/>, <see cref="Behind"/>.</param>
/// <param name="Share">For <see cref="Inside"/>: how far in the payload, 0 to 1.</param>
/// <param name="Total">Instead of all that: so many bytes of the stream; -1 = not so.</param>
internal readonly record struct FaultPlace(int Frame, int At, double Share, long Total)
{
    public const int Inside = FrameHeader.Size + 1;
    public const int Behind = FrameHeader.Size + 2;

    public string Name => Total >= 0 ? "any byte" : At switch
    {
        0 => "before a header",
        Inside => "inside a payload",
        Behind => "behind a frame",
        FrameHeader.Size => "behind a header",
        _ => $"in a header at {At}",
    };

    public bool IsAt(int frame, int at, long total, int frameBytes)
    {
        if (Total >= 0)
            return total == Total;
        if (frame != Frame)
            return At == Behind && at == 0 && frame == Frame + 1;
        return At switch
        {
            Inside => at >= FrameHeader.Size
                && at == FrameHeader.Size + (int)(Share * (frameBytes - FrameHeader.Size)),
            Behind => false,
            _ => at == At,
        };
    }

    public bool IsBehind(int frame) => Total < 0 && At == Behind && frame == Frame + 1;
}

/// <summary>What happens to one direction of one connection.</summary>
/// <param name="Kind">What.</param>
/// <param name="Place">Where.</param>
/// <param name="HoldMs">For how long, where something is held.</param>
/// <param name="MaxWriteBytes">How much is written at a time, in the first 4 KiB.</param>
/// <param name="DelayMs">Up to so long one piece in eight is delayed.</param>
/// <param name="Seed">Of the delays.</param>
internal readonly record struct FlowFaults(
    FaultKind Kind, FaultPlace Place, int HoldMs, int MaxWriteBytes, int DelayMs, int Seed);

/// <summary>What a hostile network does, by seed: the same connection of the same seed always meets the same.</summary>
internal sealed class FaultPlan(int seed)
{
    private const int FaultySharePercent = 70;

    /// <summary>What happens to the connection of this number, to the broker and back.</summary>
    public (FlowFaults There, FlowFaults Back) Connection(int number)
    {
        Random random = Random(number, 1);
        return (Flow(random), Flow(random));
    }

    /// <summary>How long no connection is taken before this one; 0 = it is taken at once.</summary>
    /// <param name="isSilent">Whether it is kept waiting rather than refused.</param>
    public int RefusalMs(int number, out bool isSilent)
    {
        Random random = Random(number, 2);
        isSilent = random.Next(2) == 0;
        return random.Next(6) == 0 ? random.Next(10, 300) : 0;
    }

    private Random Random(int number, int use) => new(unchecked((seed * 7919) + (number * 31) + use));

    private static FlowFaults Flow(Random random)
    {
        FaultKind kind = random.Next(100) < FaultySharePercent
            ? (FaultKind)random.Next(1, (int)FaultKind.BlackHole + 1)
            : FaultKind.None;
        int maxWriteBytes = random.Next(4) switch { 0 => 1, 1 => random.Next(2, 40), _ => 64 * 1024 };
        return new FlowFaults(
            kind,
            Place(random),
            kind == FaultKind.Stall ? random.Next(5, 250) : random.Next(200, 1_500),
            maxWriteBytes,
            random.Next(3) == 0 ? random.Next(1, 15) : 0,
            random.Next());
    }

    private static FaultPlace Place(Random random)
    {
        int frame = random.Next(random.Next(1, 12));
        return random.Next(8) == 0
            ? new FaultPlace(0, 0, 0, random.Next(random.Next(1, 5_000)))
            : new FaultPlace(frame, random.Next(FaultPlace.Behind + 1), random.NextDouble(), -1);
    }
}
