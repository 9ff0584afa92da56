using System.CommandLine;
using System.Text;
using EQueue.Cli.Input;
using EQueue.Cli.Sending;
using EQueue.Protocol;

namespace EQueue.Cli.Commands;

/// <summary>The arguments and options of <c>send</c>, and the request that they make.</summary>
internal sealed class SendOptions
{
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

    private readonly Option<bool> _receipts = new("--receipts") { Description = "Prints where each message is." };

    public void AddTo(Command command)
    {
        command.Arguments.Add(_topic);
        command.Arguments.Add(_body);
        foreach (Option option in new Option[]
            { _lines, _file, _key, _keySeparator, _tag, _properties, _rate, _durability, _deliveryTimeout, _receipts })
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

    /// <exception cref="UsageException">The options contradict each other.</exception>
    public SendRequest Read(ParseResult parsed)
    {
        string?[] sources = [parsed.GetValue(_body), parsed.GetValue(_lines), parsed.GetValue(_file)];
        if (sources.Count(source => source is not null) != 1)
            throw new UsageException("Give exactly one of BODY, --lines and --file.");
        string? separator = parsed.GetValue(_keySeparator);
        if (separator is not null && (parsed.GetValue(_lines) is null || parsed.GetValue(_key) is not null))
            throw new UsageException("--key-separator goes with --lines and not with --key.");
        if (separator is "") throw new UsageException("--key-separator must not be empty.");
        if (parsed.GetResult(_rate) is { Implicit: false } && parsed.GetValue(_rate) < 1)
            throw new UsageException("--rate must be 1 or more.");
        return new SendRequest
        {
            Topic = parsed.GetRequiredValue(_topic),
            Key = ToBytes(parsed.GetValue(_key)),
            KeySeparator = ToBytes(separator is "\\t" ? "\t" : separator),
            Tag = ToBytes(parsed.GetValue(_tag)),
            Properties = ReadProperties(parsed.GetValue(_properties) ?? []),
            Rate = parsed.GetValue(_rate),
        };
    }

    private static RecordProperties? ReadProperties(string[] pairs)
    {
        if (pairs.Length == 0) return null;
        var properties = new RecordProperties();
        foreach (string pair in pairs)
        {
            int equals = pair.IndexOf('=', StringComparison.Ordinal);
            if (equals < 1) throw new UsageException($"--property must be name=value; found '{pair}'.");
            try
            {
                properties.Add(pair[..equals], pair[(equals + 1)..]);
            }
            catch (ArgumentException exception)
            {
                throw new UsageException(exception.Message);
            }
        }

        return properties;
    }

    private static byte[]? ToBytes(string? text) => text is null ? null : Encoding.UTF8.GetBytes(text);
}
