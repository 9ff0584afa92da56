using System.CommandLine;
using System.CommandLine.Parsing;
using EQueue.Load.Scenarios;

namespace EQueue.Load;

/// <summary>The subcommand of one scenario: the flags that it takes, and their values.</summary>
/// <remarks>Flags that it accepts and has no use for are not shown in the help; others are refused.</remarks>
internal sealed class ScenarioCommand
{
    private const int MaxRoles = 1024;

    private readonly Option<int[]?> _sizes;
    private readonly Option<int?> _producers = Flag.Number("--producers", "producers, a connection each", 1, MaxRoles);
    private readonly Option<int?> _consumers = Flag.Number("--consumers", "consumers, a connection each", 1, MaxRoles);
    private readonly Option<int[]?> _pairs = Flag.List(
        "--pairs", "numbers of producers, each with as many consumers", 1, MaxRoles, isSingle: false);

    private readonly Option<int?> _queues = Flag.Number("--queues", "queues of each topic", 1, 100_000);
    private readonly Option<int?> _topics = Flag.Number("--topics", "topics", 1, 100_000);
    private readonly Option<int[]?> _brokers = Flag.List("--brokers", "brokers, a row each", 1, 64, isSingle: false);
    private readonly Option<double?> _seconds = Flag.Duration("--seconds", "seconds of sending in a measured run", 0.1);
    private readonly Option<long?> _messages = Flag.Number(
        "--messages", "messages of a run, all producers together, instead of --seconds", 1L, Measuring.SequenceSet.MaxSequence);

    private readonly Option<int?> _repeat = Flag.Number("--repeat", "measured runs of each row", 1, 1000);
    private readonly Option<double?> _warmup = Flag.Duration("--warmup", "seconds of the same load before each run", 0);
    private readonly Option<SendApi> _api = Flag.Word("--api", "how producers send", SendApi.Message);
    private readonly Option<FlushMode?> _flush = new("--flush")
    {
        Description = "the broker's flush policy: async, sync",
    };

    private readonly Option<int[]?> _inFlight;
    private readonly Option<int[]?> _rates;
    private readonly Option<double?> _logGB = Flag.Fraction("--gb", "GB of the log", 0.001, 10_000);
    private readonly Option<int?> _changes = Flag.Number(
        "--changes", "changes of members, or faults of each kind", 4, 10_000);

    private readonly Option<int?> _connections = Flag.Number("--connections", "connections to open", 1, 200_000);
    private readonly Option<string?> _parts = Flag.Text("--part", string.Empty);
    private readonly Option<bool> _quick = new("--quick") { Description = "each scenario shortly" };
    private readonly Option<string?> _curves = Flag.Text("--curves", "write curves for gnuplot into this directory");
    private readonly Option<string?> _data = Flag.Text("--data", "where to make the temporary directory (.)");
    private readonly Option<string?> _server = Flag.Text("--server", "measure a running server, HOST:PORT");
    private readonly Option<bool> _noLimit = new("--no-limit") { Description = "leave the limit runs out" };
    private readonly Option<int?> _seed = Flag.Number("--seed", "seed of the bodies (1)", 0, int.MaxValue);
    private readonly Option<string?> _json = Flag.Text("--json", "write the figures to this file as JSON");
    private readonly Option<string?> _report = Flag.Text("--report", "write the table to this file as Markdown");
    private readonly Option<int?> _warmMemory = Flag.Number("--warm-memory", "GB of memory to touch first (0)", 0, 4096);
    private readonly Option<int?> _limitBlock = Flag.Number("--limit-block", "KB of a block of the limit (256)", 1, 65_536);
    private readonly Option<int?> _limitTotal = Flag.Number("--limit-total", "MB of a limit run (2048)", 1, 1_000_000);

    /// <summary>Not shown in the help; described in docs/measuring.md.</summary>
    private readonly Option<Faults> _faults = new("--inject", "--plant")
    {
        Description = "injects faults for the checker to find",
        CustomParser = Flag.ParseFaults,
        Hidden = true,
    };

    /// <param name="name">The scenario's name, or the one that it had before, which the help does not show.</param>
    public ScenarioCommand(IScenario scenario, string name)
    {
        LoadFlags taken = scenario.Flags | scenario.Unused;
        _sizes = Flag.List(
            "--size", "body size in bytes", LoadOptions.MinBodySize, LoadOptions.MaxBodySize, !Has(LoadFlags.Sizes));
        _inFlight = Flag.List(
            "--in-flight", "messages sent and not yet awaited", 1, 1_000_000, !Has(LoadFlags.InFlights));
        _rates = Flag.List("--rate", "messages a second", 1, 10_000_000, !Has(LoadFlags.Rates));
        Command = new Command(name, scenario.Summary) { Hidden = name != scenario.Name };
        Add(LoadFlags.Size | LoadFlags.Sizes, _sizes);
        Add(LoadFlags.Producers, _producers);
        Add(LoadFlags.Consumers, _consumers);
        Add(LoadFlags.Pairs, _pairs);
        Add(LoadFlags.Queues, _queues);
        Add(LoadFlags.Topics, _topics);
        Add(LoadFlags.Brokers, _brokers);
        Add(LoadFlags.Seconds, _seconds);
        Add(LoadFlags.Messages, _messages);
        Add(LoadFlags.Repeat, _repeat);
        Add(LoadFlags.Warmup, _warmup);
        Add(LoadFlags.Api, _api);
        Add(LoadFlags.Flush, _flush);
        Add(LoadFlags.InFlight | LoadFlags.InFlights, _inFlight);
        Add(LoadFlags.Rate | LoadFlags.Rates, _rates);
        Add(LoadFlags.LogGB, _logGB);
        Add(LoadFlags.Changes, _changes);
        Add(LoadFlags.Connections, _connections);
        Add(LoadFlags.Quick, _quick);
        Add(LoadFlags.Server, _server);
        Add(LoadFlags.NoLimit, _noLimit);
        Add(LoadFlags.LimitRun, _limitBlock);
        Add(LoadFlags.LimitRun, _limitTotal);
        Add(LoadFlags.Curves, _curves);
        if (scenario.Parts.Count > 0)
        {
            _parts.Description = $"parts, with commas: {string.Join(',', scenario.Parts)}";
            _parts.Validators.Add(result => DemandParts(result, scenario));
            Command.Add(_parts);
        }

        foreach (Option common in (Option[])[_seed, _data, _json, _report, _warmMemory, _faults])
            Command.Add(common);

        bool Has(LoadFlags flag) => (taken & flag) != LoadFlags.None;

        void Add(LoadFlags flag, Option option)
        {
            if (!Has(flag))
                return;
            option.Hidden = (scenario.Flags & flag) == LoadFlags.None;
            Command.Add(option);
        }
    }

    public Command Command { get; }

    public LoadOptions Read(ParseResult result)
    {
        var standard = new LoadOptions();
        return new LoadOptions
        {
            Sizes = NullIfNotGiven(result.GetValue(_sizes)),
            Producers = result.GetValue(_producers),
            Consumers = result.GetValue(_consumers),
            Pairs = NullIfNotGiven(result.GetValue(_pairs)),
            Queues = result.GetValue(_queues),
            Topics = result.GetValue(_topics),
            Brokers = NullIfNotGiven(result.GetValue(_brokers)),
            Seconds = result.GetValue(_seconds),
            Messages = result.GetValue(_messages),
            Repeat = result.GetValue(_repeat),
            Warmup = result.GetValue(_warmup),
            Api = result.GetValue(_api),
            Flush = result.GetValue(_flush),
            InFlight = NullIfNotGiven(result.GetValue(_inFlight)),
            Rates = NullIfNotGiven(result.GetValue(_rates)),
            LogGB = result.GetValue(_logGB),
            Changes = result.GetValue(_changes),
            Connections = result.GetValue(_connections),
            Parts = result.GetValue(_parts)?.Split(','),
            Quick = result.GetValue(_quick),
            CurveDirectory = result.GetValue(_curves),
            DataDirectory = result.GetValue(_data),
            Server = result.GetValue(_server),
            NoLimit = result.GetValue(_noLimit),
            Seed = result.GetValue(_seed) ?? standard.Seed,
            JsonFile = result.GetValue(_json),
            ReportFile = result.GetValue(_report),
            Faults = result.GetValue(_faults),
            WarmMemoryGB = result.GetValue(_warmMemory) ?? 0,
            LimitBlockKB = result.GetValue(_limitBlock) ?? standard.LimitBlockKB,
            LimitTotalMB = result.GetValue(_limitTotal) ?? standard.LimitTotalMB,
        };
    }

    private static void DemandParts(OptionResult result, IScenario scenario)
    {
        foreach (string part in result.GetValueOrDefault<string?>()?.Split(',') ?? [])
        {
            if (!scenario.HasPart(part))
                result.AddError($"--part {part}: {scenario.Name} has {string.Join(", ", scenario.Parts)}");
        }
    }

    private static int[]? NullIfNotGiven(int[]? values) => values is { Length: > 0 } ? values : null;
}
