using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Where a group is set to in a queue. Each is put within what the queue holds.</summary>
public readonly record struct ResetPosition
{
    private ResetPosition(ResetTarget target, long value)
    {
        Target = target;
        Value = value;
    }

    /// <summary>The first message still stored; <c>default</c>.</summary>
    public static ResetPosition Begin => default;

    /// <summary>What is stored from now on.</summary>
    public static ResetPosition End => new(ResetTarget.End, 0);

    internal ResetTarget Target { get; }

    internal long Value { get; }

    /// <summary>The message with this offset.</summary>
    public static ResetPosition AtOffset(long offset)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        return new ResetPosition(ResetTarget.Offset, offset);
    }

    /// <summary>The first message stored at this time or later.</summary>
    public static ResetPosition AtTime(DateTimeOffset time) =>
        new(ResetTarget.Time, Math.Max(0, time.ToUnixTimeMilliseconds()));

    /// <summary>So many messages on from what is committed; below 0: back.</summary>
    public static ResetPosition By(long messages) => new(ResetTarget.ShiftBy, messages);

    /// <inheritdoc/>
    public override string ToString() => Target switch
    {
        ResetTarget.Begin => "begin",
        ResetTarget.End => "end",
        ResetTarget.Offset => "offset:" + Value.ToString(CultureInfo.InvariantCulture),
        ResetTarget.ShiftBy => "by:" + Value.ToString(CultureInfo.InvariantCulture),
        _ => "time:" + DateTimeOffset.FromUnixTimeMilliseconds(Value).ToString("O", CultureInfo.InvariantCulture),
    };
}
