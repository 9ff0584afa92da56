using EQueue.Load.Limit;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>What a reader of one tag in 1,000 costs beside one of everything: bytes sent to it, and time.</summary>
internal sealed class FilterScenario : IScenario
{
    private const int StandardSize = 128;
    private const long StandardMessages = 10_000_000;
    private const int StandardQueues = 4;
    private const int StandardRepeat = 3;
    private const string RestNote = "this scenario does not measure it";

    public string Name => "filter";

    public string Summary =>
        "read one tag of 1,000 from disk beside reading all: bytes sent, time (128 B; 10,000,000; tags in runs, in turns)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Queues | LoadFlags.Messages | LoadFlags.Repeat | LoadFlags.Warmup
        | LoadFlags.Flush;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        if (LimitRun.Unavailable is not null)
            throw LoadException.MachineLimit("system", "the page cache is dropped on Linux only");
        LoadOptions options = session.Options;
        long messages = options.Messages ?? StandardMessages;
        if (messages < TagPlan.TagCount)
            throw LoadException.Usage($"--messages {messages}: at least one for each of {TagPlan.TagCount} tags");
        foreach (int size in options.Sizes ?? [StandardSize])
        {
            foreach (int runLength in new[] { TagPlan.RunLengthFor(messages), 1 })
            {
                var order = new FilterOrder(
                    string.Empty, string.Empty, options.Queues ?? StandardQueues, messages, size, options.Seed,
                    (uint)Random.Shared.Next(), RunPlan.InFlightFor(size, SendApi.Message), runLength);
                await MeasureAsync(session, order, cancellationToken);
            }
        }
    }

    private static async Task MeasureAsync(LoadSession session, FilterOrder order, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        await using var run = new FilterRun(session, order);
        FilterSendResult sent = await run.PrepareAsync(cancellationToken);
        int repeat = options.Repeat ?? StandardRepeat;
        IReadOnlyList<(string Name, object? Value)> parameters = Describe(options, order, repeat);
        var runs = new List<Figures>();
        for (int number = 1; number <= repeat; number++)
        {
            Figures figures = await run.MeasureAsync(options.ConsumerFaults, cancellationToken);
            figures[FigureNames.SendPerSecond] = order.Messages / sent.Seconds;
            figures[FigureNames.SendMBps] = order.Messages * (double)order.Size / sent.Seconds / 1e6;
            figures.SetProcess(FigureNames.Producer, sent.Start, sent.End, order.Messages);
            Verdict.Demand(session, parameters, figures, RestNote);
            runs.Add(figures);
            LoadSession.Say(
                $"{order.Size} B, tags in runs of {order.RunLength}, run {number}: one tag "
                + $"{figures[FigureNames.FetchedBytes] / 1e6:N1} MB in {figures[FigureNames.ReadSeconds]:F2} s, all "
                + $"{figures[FigureNames.FetchedBytesOfAll] / 1e6:N1} MB in {figures[FigureNames.ReadSecondsOfAll]:F2} s: "
                + $"bytes 1:{figures[FigureNames.FetchedRatio]:N1}, time 1:{figures[FigureNames.ReferenceRatio]:N1}");
        }

        session.Report.Add(new ReportRow(parameters, runs, RestNote));
    }

    private static IReadOnlyList<(string Name, object? Value)> Describe(
        LoadOptions options, FilterOrder order, int repeat) =>
    [
        ("size", order.Size),
        ("tags", TagPlan.TagCount),
        ("tagRun", order.RunLength),
        ("wanted", new TagPlan(order.RunLength).CountWanted(order.Messages)),
        ("queues", order.Queues),
        ("messages", order.Messages),
        ("inFlight", order.InFlight),
        ("flush", (options.Flush ?? FlushMode.Async).ToString().ToLowerInvariant()),
        ("warmup", options.Warmup ?? FilterRun.StandardWarmup),
        ("repeat", repeat),
        ("seed", order.Seed),
    ];
}
