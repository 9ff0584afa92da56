using System.CommandLine;
using System.CommandLine.Parsing;
using System.Globalization;
using System.Numerics;
using EQueue.Load.Measuring;

namespace EQueue.Load;

/// <summary>The flags, their bounds and their help.</summary>
internal sealed class LoadCommandLine
{
    private const int MaxRoles = 1024;

    private readonly Argument<string> _scenario = new("scenario")
    {
        Description = "what to measure; 'list' names them",
    };

    private readonly Option<int[]?> _sizes = List(
        "--size", "body sizes in bytes, one row each", LoadOptions.MinBodySize, LoadOptions.MaxBodySize);

    private readonly Option<int?> _producers = Number("--producers", "producers, a connection each", 1, MaxRoles);
    private readonly Option<int?> _consumers = Number("--consumers", "consumers, a connection each (1)", 1, MaxRoles);
    private readonly Option<int[]?> _pairs = List(
        "--pairs", "so many producers and as many consumers (throughput)", 1, MaxRoles);

    private readonly Option<int?> _queues = Number("--queues", "queues of each topic (4)", 1, 100_000);
    private readonly Option<int?> _topics = Number("--topics", "topics (1)", 1, 100_000);
    private readonly Option<int[]?> _brokers = List("--brokers", "brokers, a row each (cluster-bench)", 1, 64);
    private readonly Option<double?> _seconds = Duration("--seconds", "seconds of sending in a measured run", 0.1);
    private readonly Option<long?> _messages = new("--messages")
    {
        Description = "messages of a run, all producers together, instead of --seconds",
        CustomParser = result => ParseNumber(result, "--messages", 1L, SequenceSet.MaxSequence),
    };

    private readonly Option<int?> _repeat = Number("--repeat", "measured runs of each row (3)", 1, 1000);
    private readonly Option<double?> _warmup = Duration("--warmup", "seconds of the same load before each run (2)", 0);
    private readonly Option<SendApi> _api = Word("--api", "how producers send", SendApi.Message);
    private readonly Option<FlushMode?> _flush = new("--flush")
    {
        Description = "the broker's flush policy: async, sync",
    };

    private readonly Option<int[]?> _inFlight = List("--in-flight", "messages sent and not yet awaited", 1, 1_000_000);
    private readonly Option<int[]?> _rates = List("--rate", "messages a second (latency, coldread, packing, groups, failover, cluster)", 1, 10_000_000);
    private readonly Option<double?> _logGB = Fraction(
        "--gb", "GB of the log (recovery 20, coldread 4)", 0.001, 10_000);

    private readonly Option<int?> _changes = Number("--changes", "changes of members (groups, 40), faults of each kind (failover, 100)", 4, 10_000);
    private readonly Option<int?> _connections = Number(
        "--connections", "idle connections (connections: what descriptors allow)", 1, 200_000);

    private readonly Option<string?> _parts = Text("--part", "parts, with commas (fanout, jellyfish, cluster-bench, failover, cluster, all)");
    private readonly Option<bool> _quick = new("--quick") { Description = "each scenario shortly (all)" };
    private readonly Option<string?> _curves = Text(
        "--curves", "write curves for gnuplot into this directory (fanout, latency, throughput)");
    private readonly Option<string?> _data = Text("--data", "where to make the temporary directory (.)");
    private readonly Option<string?> _server = Text("--server", "measure a running server, HOST:PORT");
    private readonly Option<bool> _noLimit = new("--no-limit") { Description = "leave the limit runs out" };
    private readonly Option<int?> _seed = Number("--seed", "seed of the bodies (1)", 0, int.MaxValue);
    private readonly Option<string?> _json = Text("--json", "write the figures to this file as JSON");
    private readonly Option<string?> _report = Text("--report", "write the table to this file as Markdown");
    private readonly Option<int?> _warmMemory = Number("--warm-memory", "GB of memory to touch first (0)", 0, 4096);
    private readonly Option<int?> _limitBlock = Number("--limit-block", "KB of a block of the limit (256)", 1, 65_536);
    private readonly Option<int?> _limitTotal = Number("--limit-total", "MB of a limit run (2048)", 1, 1_000_000);

    /// <summary>Not shown in the help; described in docs/measuring.md.</summary>
    private readonly Option<Plant> _plant = new("--plant")
    {
        Description = "plants defects for the checker to find",
        CustomParser = ParsePlant,
    };

    public LoadCommandLine()
    {
        _plant.Hidden = true;
        Root = new RootCommand("Measures EQueue on this machine; docs/measuring.md says how to read the figures.")
        {
            _scenario, _sizes, _producers, _consumers, _pairs, _queues, _topics, _brokers, _seconds, _messages, _repeat, _warmup,
            _api, _flush, _inFlight, _rates, _logGB, _changes, _connections, _parts, _quick, _curves, _data, _server, _noLimit,
            _seed, _json, _report, _warmMemory, _limitBlock, _limitTotal, _plant,
        };
    }

    public RootCommand Root { get; }

    public string ScenarioOf(ParseResult result) => result.GetRequiredValue(_scenario);

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
            Plant = result.GetValue(_plant),
            WarmMemoryGB = result.GetValue(_warmMemory) ?? 0,
            LimitBlockKB = result.GetValue(_limitBlock) ?? standard.LimitBlockKB,
            LimitTotalMB = result.GetValue(_limitTotal) ?? standard.LimitTotalMB,
        };
    }

    private static int[]? NullIfNotGiven(int[]? values) => values is { Length: > 0 } ? values : null;

    private static Option<string?> Text(string name, string description) => new(name) { Description = description };

    private static Option<T> Word<T>(string name, string description, T standard)
        where T : struct, Enum
    {
        string words = string.Join('|', Enum.GetNames<T>().Select(word => word.ToLowerInvariant()));
        return new Option<T>(name) { Description = $"{description}: {words}", DefaultValueFactory = _ => standard };
    }

    private static Option<int?> Number(string name, string description, int min, int max) => new(name)
    {
        Description = description,
        CustomParser = result => ParseNumber(result, name, min, max),
    };

    private static Option<double?> Duration(string name, string description, double min)
    {
        const double max = 86_400;
        return Fraction(name, description, min, max);
    }

    private static Option<double?> Fraction(string name, string description, double min, double max) => new(name)
    {
        Description = description,
        CustomParser = result => ParseNumber(result, name, min, max),
    };

    /// <summary>
    /// A number of the same kind as its bounds: with a fraction only where they are fractions' bounds.
    /// </summary>
    private static T? ParseNumber<T>(ArgumentResult result, string name, T min, T max)
        where T : struct, INumber<T>
    {
        string word = result.Tokens[0].Value;
        if (T.TryParse(word, CultureInfo.InvariantCulture, out T value) && value >= min && value <= max)
            return value;
        result.AddError($"{name} '{word}': a number from {min} to {max}");
        return null;
    }

    private static Plant ParsePlant(ArgumentResult result)
    {
        string word = result.Tokens[0].Value;
        if (!int.TryParse(word, CultureInfo.InvariantCulture, out _) && Enum.TryParse<Plant>(word, true, out Plant plant))
            return plant;
        result.AddError($"--plant '{word}': missing, duplicate, reorder, short, or several with commas");
        return Plant.None;
    }

    private static Option<int[]?> List(string name, string description, int min, int max) => new(name)
    {
        Description = $"{description}; several with commas",
        CustomParser = result => ParseList(result, name, min, max),
    };

    private static int[]? ParseList(ArgumentResult result, string name, int min, int max)
    {
        string[] words = result.Tokens.SelectMany(token => token.Value.Split(',')).ToArray();
        var values = new List<int>();
        foreach (string word in words)
        {
            if (int.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture, out int value)
                && value >= min && value <= max)
            {
                values.Add(value);
            }
            else
            {
                result.AddError($"{name} '{word}': numbers from {min} to {max}, separated by commas");
                return null;
            }
        }

        return values.Count == 0 ? null : [.. values];
    }
}
