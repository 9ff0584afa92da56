using System.CommandLine;
using System.Text;
using EQueue.Cli.Input;
using EQueue.Cli.Sending;

namespace EQueue.Cli.Commands;

/// <summary>The arguments and options of <c>send</c>, and the request that they make.</summary>
internal sealed class SendOptions
{
    /// <summary>What is wrong when there are two messages, or none.</summary>
    public const string OneSource =
        "Give exactly one of BODY, --lines and --file, or with --json messages on standard input.";

    private readonly Argument<string> _topic = new("topic")
    {
        Description = "The topic's name; made when the broker allows it.",
    };

    private readonly Argument<string?> _body = new("body")
    {
        Description = "The message, sent as UTF-8.",
        Arity = ArgumentArity.ZeroOrOne,
    };

    private readonly Option<string?> _lines = new("--lines")
    {
        Description = "Sends each line of a file, or of standard input with -, as the bytes that stand there.",
        HelpName = "FILE|-",
    };

    private readonly Option<string?> _format = new("--format")
    {
        Description = "What each line of --lines is: raw, a body (the default); json, a message as consume prints it. "
            + "With --json and nothing else to send, messages as JSON come from standard input.",
        HelpName = "raw|json",
    };

    private readonly Option<string?> _file = new("--file")
    {
        Description = "Sends a file's bytes as one message.",
        HelpName = "FILE",
    };

    private readonly Option<string?> _key = new("--key")
    {
        Description = "The ordering key: it picks the queue.",
        HelpName = "K",
    };

    private readonly Option<string?> _keySeparator = new("--key-separator")
    {
        Description = "Each line is a key, this text, and the body; \\t is a tab.",
        HelpName = "C",
    };

    private readonly Option<string?> _tag = new("--tag") { Description = "A word to filter by.", HelpName = "X" };

    private readonly Option<string[]> _properties = new("--property")
    {
        Description = "A name and a value; may be given several times.",
        HelpName = "k=v",
        Arity = ArgumentArity.OneOrMore,
        AllowMultipleArgumentsPerToken = false,
    };

    private readonly Option<int> _rate = new("--rate") { Description = "Messages per second at most.", HelpName = "N" };

    private readonly Option<string?> _durability = DurabilityText.Option(
        "What to wait for; without it the broker's flush policy.");

    private readonly Option<TimeSpan> _deliveryTimeout = new("--delivery-timeout")
    {
        Description = "How long one message may take, retries included, while the broker is away or restarts. "
            + "--timeout bounds the first contact alone.",
        HelpName = "TIME",
        DefaultValueFactory = _ => TimeSpan.FromSeconds(120),
        CustomParser = DurationText.Parse,
    };

    private readonly Option<string?> _compress = new("--compress")
    {
        Description = "Compresses what is sent: gzip, lz4, zstd or snappy.",
        HelpName = "CODEC",
    };

    private readonly Option<bool> _receipts = new("--receipts") { Description = "Prints where each message is." };

    public SendOptions() => _format.AcceptOnlyFromAmong("raw", "json");

    public void AddTo(Command command)
    {
        command.Arguments.Add(_topic);
        command.Arguments.Add(_body);
        foreach (Option option in new Option[]
            {
                _lines, _format, _file, _key, _keySeparator, _tag, _properties, _rate, _durability, _deliveryTimeout,
                _compress, _receipts,
            })
        {
            command.Options.Add(option);
        }
    }

    public bool HasReceipts(ParseResult parsed) => parsed.GetValue(_receipts);

    public TimeSpan DeliveryTimeout(ParseResult parsed) => parsed.GetValue(_deliveryTimeout);

    public string? Lines(ParseResult parsed) => parsed.GetValue(_lines);

    public Durability Durability(ParseResult parsed) => DurabilityText.Read(parsed.GetValue(_durability));

    /// <summary>The single message to send, unless lines are.</summary>
    public async Task<byte[]> ReadBodyAsync(ParseResult parsed, CancellationToken cancellationToken)
        => parsed.GetValue(_file) is { } file
            ? await File.ReadAllBytesAsync(file, cancellationToken)
            : Encoding.UTF8.GetBytes(parsed.GetValue(_body)!);

    /// <summary>Whether the command line says what to send.</summary>
    public bool HasSource(ParseResult parsed) => Sources(parsed) > 0;

    /// <param name="parsed">The command line.</param>
    /// <param name="readsMessages">Whether messages as JSON come from standard input.</param>
    /// <exception cref="UsageException">The options contradict each other.</exception>
    public SendRequest Read(ParseResult parsed, bool readsMessages)
    {
        if (Sources(parsed) != (readsMessages ? 0 : 1))
            throw new UsageException(OneSource);
        string? format = parsed.GetValue(_format);
        if (format is not null && parsed.GetValue(_lines) is null)
            throw new UsageException("--format goes with --lines.");
        bool isJson = readsMessages || format == "json";
        string?[] own = [parsed.GetValue(_key), parsed.GetValue(_keySeparator), parsed.GetValue(_tag)];
        if (isJson && (own.Any(one => one is not null) || parsed.GetValue(_properties) is { Length: > 0 }))
        {
            throw new UsageException(
                "Messages as JSON have keys, tags and properties of their own: leave --key, --key-separator, --tag and "
                + "--property out.");
        }

        string? separator = parsed.GetValue(_keySeparator);
        if (separator is not null && (parsed.GetValue(_lines) is null || parsed.GetValue(_key) is not null))
            throw new UsageException("--key-separator goes with --lines and not with --key.");
        if (separator is "")
            throw new UsageException("--key-separator must not be empty.");
        if (parsed.GetResult(_rate) is { Implicit: false } && parsed.GetValue(_rate) < 1)
            throw new UsageException("--rate must be 1 or more.");
        return new SendRequest
        {
            Topic = parsed.GetRequiredValue(_topic),
            Key = ToBytes(parsed.GetValue(_key)),
            KeySeparator = ToBytes(separator is "\\t" ? "\t" : separator),
            Tag = ToBytes(parsed.GetValue(_tag)),
            Properties = ReadProperties(parsed.GetValue(_properties) ?? []),
            IsJson = isJson,
            Rate = parsed.GetValue(_rate),
            Compression = Compression(parsed),
        };
    }

    private int Sources(ParseResult parsed) =>
        new[] { parsed.GetValue(_body), parsed.GetValue(_lines), parsed.GetValue(_file) }
            .Count(source => source is not null);

    private RecordCodec Compression(ParseResult parsed) => parsed.GetValue(_compress) switch
    {
        null => RecordCodec.None,
        "gzip" => RecordCodec.Gzip,
        "lz4" => RecordCodec.Lz4,
        "zstd" => RecordCodec.Zstd,
        "snappy" => RecordCodec.Snappy,
        string other => throw new UsageException($"--compress must be gzip, lz4, zstd or snappy; found '{other}'."),
    };

    private static RecordProperties? ReadProperties(string[] pairs)
    {
        if (pairs.Length == 0)
            return null;
        var properties = new RecordProperties();
        foreach (string pair in pairs)
        {
            int equals = pair.IndexOf('=', StringComparison.Ordinal);
            if (equals < 1)
                throw new UsageException($"--property must be name=value; found '{pair}'.");
            try
            {
                properties.Add(pair[..equals], pair[(equals + 1)..]);
            }
            catch (ArgumentException exception)
            {
                throw new UsageException(Words.Of(exception));
            }
        }

        return properties;
    }

    private static byte[]? ToBytes(string? text) => text is null ? null : Encoding.UTF8.GetBytes(text);
}
