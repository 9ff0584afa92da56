namespace EQueue.Load.Reporting;

/// <summary>What the product must and should reach on a machine of two shared cores.</summary>
internal static class TargetList
{
    private const string Throughput = "throughput";

    private static readonly (int Size, double MustOfLimit)[] Sizes =
        [(128, 0.50), (512, 0.55), (1024, 0.60), (2048, 0.60)];

    private static readonly (int InFlight, double Must, double Aim)[] SyncRates =
        [(1, 3_500, 5_000), (64, 150_000, 250_000), (1_000, 1e6, 2e6), (10_000, 2.5e6, 4e6)];

    public static IReadOnlyList<Target> All { get; } =
    [
        .. Sizes.Select(each => new Target(
            $"1 + 1, async flush, {each.Size} B: ratio to limit", each.MustOfLimit, 0.85,
            rows => One(rows, FigureNames.RatioToLimit, each.Size))),
        .. Sizes.Select(each => new Target(
            $"2 + 2 over 1 + 1, {each.Size} B", 1, 1.3,
            rows => Of(rows, FigureNames.RatioToFirst, each.Size, 2, 4, "message"))),
        new(
            "1 + 1, span API, 128 B: msg/s", 5e6, 10e6,
            rows => OfApi(rows, FigureNames.ConsumePerSecond, "span")),
        .. SyncRates.Select(each => new Target(
            $"sync flush, 128 B, {each.InFlight:N0} in flight: msg/s", each.Must, each.Aim,
            rows => rows.Find("sync", FigureNames.SendPerSecond, ("size", 128), ("inFlight", each.InFlight)))),
        new(
            "one at a time, async flush: round trips/s", 12_000, 19_000,
            rows => OfApi(rows, FigureNames.SendPerSecond, "sync")),
        AtMost("10,000/s paced, async flush: end to end p50, us", 150, 100, rows => Paced(rows, "p50")),
        AtMost("10,000/s paced, async flush: end to end p99, us", 2_000, null, rows => Paced(rows, "p99")),
        AtMost(
            "the same p99 over that of a bare ping-pong paced alike", null, 1.5,
            rows => Paced(rows, "p99") / OfPaced(rows, FigureNames.ReferenceP99)),
        .. new[] { FigureNames.Producer, FigureNames.Consumer }.Select(role => AtMost(
            $"{role}, 128 B, SendAsync and ReadAllAsync: bytes allocated a message", 50, 0.5,
            rows => One(rows, FigureNames.Of(role, FigureNames.AllocatedBytesPerMessage), 128))),
        AtMost(
            "producer, 128 B, span API: bytes allocated a message", 0.5, 0.5,
            rows => OfApi(rows, FigureNames.Of(FigureNames.Producer, FigureNames.AllocatedBytesPerMessage), "span")),
        AtMost(
            "broker's memory under 128 B, MB", 200, 100,
            rows => One(rows, FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes), 128) / 1e6),
        new(
            "RPC of 1 KB: async over oneway", 0.75, 0.9,
            rows => rows.Find(
                "remoting", FigureNames.AsyncToOneway, ("mode", "async"), ("size", 1024), ("clients", 1))),
        AtMost(
            "administrative requests beside full load: p99, ms", null, 50,
            rows => rows.Find("admin", FigureNames.Of(FigureNames.Admin, "p99"), ("kind", "all"))),
        new("1,000 queues over 4, 128 B", 0.8, 0.95, rows => Rate(rows, 1000) / Rate(rows, 4)),
    ];

    private static Target AtMost(string what, double? must, double? aim, Func<MeasuredRows, double?> measure) =>
        new(what, must, aim, measure) { IsAtMost = true };

    private static double? One(MeasuredRows rows, string figure, int size) => Of(rows, figure, size, 1, 4, "message");

    private static double? OfApi(MeasuredRows rows, string figure, string api) => Of(rows, figure, 128, 1, 4, api);

    private static double? Rate(MeasuredRows rows, int queues) =>
        Of(rows, FigureNames.ConsumePerSecond, 128, 1, queues, "message");

    private static double? Of(MeasuredRows rows, string figure, int size, int pairs, int queues, string api) =>
        rows.Find(
            Throughput, figure, ("size", size), ("producers", pairs), ("consumers", pairs), ("queues", queues),
            ("api", api), ("flush", "async"));

    private static double? Paced(MeasuredRows rows, string percentile) =>
        OfPaced(rows, FigureNames.Of(FigureNames.EndToEndLatency, percentile));

    private static double? OfPaced(MeasuredRows rows, string figure) =>
        rows.Find("latency", figure, ("rate", 10_000), ("flush", "async"));
}
