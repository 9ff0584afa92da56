
namespace EQueue.Load.Scenarios;

/// <summary>Published figures of earlier systems, to print beside what is measured; of other machines.</summary>
internal static class PublishedReports
{
    public const string EQueue2 = "EQueue 2.0, its report (5 servers), messages/s";

    public const string ENode = "ENode, its report, calls/s";

    public const string Jellyfish = "Jellyfish, its report (over DPDK), messages/s";

    public const string JellyfishEnqueue = "Jellyfish, its report (over DPDK), enqueue at a depth of 128, us";

    public const string JellyfishEndToEnd =
        "Jellyfish, its report (over DPDK), enqueue to dequeue at a depth of 128, us";

    public const string Nsq = "NSQ, its bench (its own machines), messages/s; value: consumed, else sent";

    public const double JellyfishEnqueueUs = 10;

    public const double JellyfishEndToEndUs = 20;

    /// <summary>Messages a second of Jellyfish.</summary>
    /// <param name="isThrough">From enqueue to dequeue; else enqueued only.</param>
    /// <param name="isByTen">In batches of ten; else singly.</param>
    public static double JellyfishPerSecond(bool isThrough, bool isByTen) => (isThrough, isByTen) switch
    {
        (false, false) => 4e6,
        (true, false) => 2e6,
        (false, true) => 40e6,
        (true, true) => 20e6,
    };

    /// <summary>Messages a second of the original EQueue from end to end; null for what its report does not
    /// have.</summary>
    public static double? MessagesPerSecond(int producers, int consumers, int size) =>
        (producers, consumers, size) switch
        {
            (1, 1, 128) => 56_400,
            (1, 1, 512) => 41_000,
            (1, 1, 1024) => 29_000,
            (1, 1, 2048) => 20_000,
            (2, 2, 128) => 50_000,
            (2, 2, 512) => 40_000,
            (2, 2, 1024) => 31_200,
            (2, 2, 2048) => 23_000,
            _ => null,
        };

    /// <summary>Messages a second of NSQ, sent and, where the case has it, consumed; null for what its report does not
    /// have.</summary>
    /// <param name="isSingle">One broker with as many producers as consumers; else topics over several.</param>
    public static (double Sent, double? Consumed)? NsqPerSecond(
        bool isSingle, int brokers, int producers, int consumers, int size) =>
        (isSingle, brokers, producers, consumers, size) switch
        {
            (false, 3, 9, 0, 100) => (2_070_000, null),
            (false, 3, 9, 72, 100) => (842_000, 806_000),
            (false, 4, 16, 72, 100) => (1_110_000, 1_060_000),
            (true, 1, 1, 1, 200) => (432_000, 166_000),
            (true, 1, 4, 4, 200) => (708_000, 190_000),
            _ => null,
        };

    /// <summary>Calls a second of ENode's remoting; null for what its report does not have.</summary>
    public static double? CallsPerSecond(CallMode mode, int clients, int size) => (mode, clients, size) switch
    {
        (CallMode.Oneway, 4, 1024) => 101_265,
        (CallMode.Async, 1, 1024) => 33_000,
        _ => null,
    };
}
