using System.Globalization;

namespace EQueue.Load.Scenarios;

/// <summary>Which of 1,000 tags each message of a stream has: every tag one message in 1,000.</summary>
/// <param name="RunLength">
/// Messages of one tag that follow each other, as those of one import or one sender's burst do; 1: the tags take turns
/// from message to message, so that every batch of any length has all tag bits.
/// </param>
internal sealed record TagPlan(int RunLength)
{
    /// <summary>Different tags.</summary>
    public const int TagCount = 1000;

    /// <summary>The longest run.</summary>
    public const int MaxRunLength = 1000;

    /// <summary>Shares no divisor with the number of tags: neighbours' tags are no neighbours.</summary>
    private const int Stride = 619;

    /// <summary>The tag that one reader wants: that of the middle of the first thousand runs.</summary>
    public string Wanted => NameOf(RunLength * (long)(TagCount / 2));

    /// <summary>Runs as long as so many messages allow with every tag in them.</summary>
    public static int RunLengthFor(long messages) => (int)Math.Clamp(messages / TagCount, 1, MaxRunLength);

    /// <summary>The tag's number, 0 to 999, of a message by its sequence.</summary>
    public int TagOf(long sequence) => (int)(sequence / RunLength % TagCount * Stride % TagCount);

    public string NameOf(long sequence) => Names[TagOf(sequence)];

    /// <summary>How many of the first messages have the wanted tag.</summary>
    public long CountWanted(long messages)
    {
        long round = (long)RunLength * TagCount, begin = RunLength * (long)(TagCount / 2);
        return (messages / round * RunLength) + Math.Clamp((messages % round) - begin, 0, RunLength);
    }

    private static readonly string[] Names =
        [.. Enumerable.Range(0, TagCount).Select(tag => string.Create(CultureInfo.InvariantCulture, $"tag-{tag:d3}"))];
}
