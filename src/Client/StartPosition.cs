using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Where reading a queue begins.</summary>
public readonly record struct StartPosition
{
    private readonly long _value;
    private readonly Kind _kind;

    private StartPosition(Kind kind, long value)
    {
        _kind = kind;
        _value = value;
    }

    private enum Kind
    {
        Begin,
        End,
        Offset,
        Time,
    }

    /// <summary>The first message still stored; <c>default</c>.</summary>
    public static StartPosition Begin => default;

    /// <summary>What is stored from now on.</summary>
    public static StartPosition End => new(Kind.End, 0);

    /// <summary>The message with this offset.</summary>
    public static StartPosition AtOffset(long offset)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        return new StartPosition(Kind.Offset, offset);
    }

    /// <summary>The first message stored at this time or later.</summary>
    public static StartPosition AtTime(DateTimeOffset time) =>
        new(Kind.Time, Math.Max(0, time.ToUnixTimeMilliseconds()));

    /// <summary>The offset, if that is what was asked for.</summary>
    internal QueueOffset? KnownOffset => _kind == Kind.Offset ? new QueueOffset(_value) : null;

    /// <summary>The question to the broker whose answer is the offset.</summary>
    internal OffsetQuestion ToQuestion(QueueKey queue) => new(queue, _kind switch
    {
        Kind.Begin => OffsetQuestion.Begin,
        Kind.End => OffsetQuestion.End,
        _ => _value,
    });

    /// <inheritdoc/>
    public override string ToString() => _kind switch
    {
        Kind.Begin => "begin",
        Kind.End => "end",
        Kind.Offset => "offset:" + _value.ToString(CultureInfo.InvariantCulture),
        _ => "time:" + DateTimeOffset.FromUnixTimeMilliseconds(_value).ToString("O", CultureInfo.InvariantCulture),
    };
}
