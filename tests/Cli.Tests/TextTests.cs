using EQueue.Cli.Input;
using EQueue.Cli.Output;

namespace EQueue.Cli.Tests;

public sealed class TextTests
{
    [Theory]
    [InlineData("500ms", 500)]
    [InlineData("30s", 30_000)]
    [InlineData("1.5m", 90_000)]
    [InlineData("2h", 7_200_000)]
    [InlineData("7d", 604_800_000)]
    public void GivenADuration_WhenRead_ThenItsUnitIsUnderstood(string text, int milliseconds)
        => Assert.Equal(TimeSpan.FromMilliseconds(milliseconds), DurationText.TryRead(text));

    [Theory]
    [InlineData("")]
    [InlineData("30")]
    [InlineData("s")]
    [InlineData("-1s")]
    [InlineData("0s")]
    [InlineData("21d")]
    [InlineData("1e9s")]
    public void GivenNoDuration_WhenRead_ThenThereIsNone(string text) => Assert.Null(DurationText.TryRead(text));

    [Theory]
    [InlineData("4096", 4096)]
    [InlineData("512KiB", 524_288)]
    [InlineData("10mib", 10_485_760)]
    [InlineData("2GiB", 2_147_483_648)]
    [InlineData("1TiB", 1_099_511_627_776)]
    public void GivenASize_WhenRead_ThenItsUnitIsUnderstood(string text, long bytes)
        => Assert.Equal(bytes, SizeText.TryRead(text));

    [Theory]
    [InlineData("")]
    [InlineData("KiB")]
    [InlineData("-1")]
    [InlineData("1.5GiB")]
    [InlineData("9999999999TiB")]
    public void GivenNoSize_WhenRead_ThenThereIsNone(string text) => Assert.Null(SizeText.TryRead(text));

    [Theory]
    [InlineData("begin", "begin")]
    [InlineData("end", "end")]
    [InlineData("offset:42", "offset:42")]
    [InlineData("time:2026-01-31T12:00:00Z", "time:2026-01-31T12:00:00.0000000+00:00")]
    [InlineData("time:2026-01-31T12:00:00", "time:2026-01-31T12:00:00.0000000+00:00")]
    [InlineData("time:2026-01-31T13:00:00+01:00", "time:2026-01-31T12:00:00.0000000+00:00")]
    [InlineData("time:2026-01-31", "time:2026-01-31T00:00:00.0000000+00:00")]
    [InlineData("time:2026-01-31T12:00Z", "time:2026-01-31T12:00:00.0000000+00:00")]
    [InlineData("time:2026-01-31T12:00:00.123Z", "time:2026-01-31T12:00:00.1230000+00:00")]
    public void GivenAStart_WhenRead_ThenItMeansThatPlace(string text, string expected)
        => Assert.Equal(expected, StartText.TryRead(text).ToString());

    [Theory]
    [InlineData("")]
    [InlineData("start")]
    [InlineData("offset:-1")]
    [InlineData("offset:x")]
    [InlineData("time:yesterday")]
    [InlineData("time:01/02/2026")]
    [InlineData("time:10:00")]
    [InlineData("time:2026-1-31")]
    [InlineData("time:2026-01-31 12:00:00")]
    [InlineData("time:2026-01-31T12:00:00+0100")]
    [InlineData("time:2026-02-30")]
    [InlineData("time: 2026-01-31")]
    [InlineData("begin:1")]
    public void GivenNoStart_WhenRead_ThenThereIsNone(string text) => Assert.Null(StartText.TryRead(text));

    [Theory]
    [InlineData("begin", "begin")]
    [InlineData("end", "end")]
    [InlineData("offset:42", "offset:42")]
    [InlineData("by:7", "by:7")]
    [InlineData("by:+7", "by:7")]
    [InlineData("by:-7", "by:-7")]
    [InlineData("time:2026-01-31T13:00:00+01:00", "time:2026-01-31T12:00:00.0000000+00:00")]
    public void GivenAPlaceToGoOn_WhenRead_ThenItMeansThatPlace(string text, string expected)
        => Assert.Equal(expected, ResetText.TryRead(text).ToString());

    [Theory]
    [InlineData("")]
    [InlineData("start")]
    [InlineData("offset:-1")]
    [InlineData("by:")]
    [InlineData("by:1.5")]
    [InlineData("time:yesterday")]
    public void GivenNoPlaceToGoOn_WhenRead_ThenThereIsNone(string text) => Assert.Null(ResetText.TryRead(text));

    [Theory]
    [InlineData(ErrorCode.StorageFull, "make room on the broker's disk")]
    [InlineData(ErrorCode.QueueFull, "equeue group lag")]
    [InlineData(ErrorCode.ShuttingDown, "--delivery-timeout")]
    public void GivenASendThatWaitedInVain_WhenReported_ThenTheNextStepIsAboutWhatItWaitedFor(
        ErrorCode last, string next)
    {
        var timeout = new EQueueException(ErrorCode.Timeout, "in vain", new EQueueException(last, "last"));
        Assert.Contains(next, NextStep.Of(timeout), StringComparison.Ordinal);
    }
}
