namespace EQueue.Cli.Measuring;

/// <summary>What a test of the user's own deployment found.</summary>
/// <param name="Acknowledged">Messages that the broker acknowledged.</param>
/// <param name="Received">Different messages that came back.</param>
/// <param name="Repeated">Messages that came back more than once.</param>
/// <param name="Elapsed">From the first send to the last receipt.</param>
/// <param name="Ack">From the send to its acknowledgement.</param>
/// <param name="EndToEnd">From the send to the receipt.</param>
internal sealed record SelfTestResult(
    long Acknowledged, long Received, long Repeated, TimeSpan Elapsed, LatencyCounts Ack, LatencyCounts EndToEnd)
{
    /// <summary>Acknowledged and not received.</summary>
    public long Missing => Acknowledged - Received;

    public double PerSecond => Elapsed > TimeSpan.Zero ? Received / Elapsed.TotalSeconds : 0;
}
