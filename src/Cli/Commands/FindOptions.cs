using System.CommandLine;
using EQueue.Cli.Finding;
using EQueue.Cli.Input;

namespace EQueue.Cli.Commands;

/// <summary>The arguments and options of <c>find</c>, and the request that they make.</summary>
internal sealed class FindOptions
{
    private const int UsualLimit = 100;

    private readonly Argument<string> _topic = new("topic") { Description = "The topic's name." };

    private readonly Option<int?> _queue = new("--queue")
    {
        Description = "Only this queue, by number.",
        HelpName = "N",
    };

    private readonly Option<long?> _offset = new("--offset")
    {
        Description = "The message at this offset of the queue.",
        HelpName = "M",
    };

    private readonly Option<string?> _key = new("--key")
    {
        Description = "Messages with this key, in the queue that the key belongs to.",
        HelpName = "K",
    };

    private readonly Option<bool> _allQueues = new("--all-queues")
    {
        Description = "Looks for the key in every queue: queues may have been added.",
    };

    private readonly Option<DateTimeOffset?> _since = new("--since")
    {
        Description = "Messages stored then or later.",
        HelpName = "ISO",
        CustomParser = TimeText.Parse,
    };

    private readonly Option<DateTimeOffset?> _until = new("--until")
    {
        Description = "Only messages stored before.",
        HelpName = "ISO",
        CustomParser = TimeText.Parse,
    };

    private readonly Option<int?> _last = new("--last")
    {
        Description = $"The latest messages, 1 to {FoundMessages.MaxCount}.",
        HelpName = "N",
    };

    private readonly Option<int?> _limit = new("--limit")
    {
        Description = $"Prints at most so many, the oldest: 1 to {FoundMessages.MaxCount}, {UsualLimit} unless said.",
        HelpName = "N",
    };

    private readonly FormatOptions _format = new();

    public void AddTo(Command command)
    {
        command.Arguments.Add(_topic);
        foreach (Option option in new Option[]
                 { _queue, _offset, _key, _allQueues, _since, _until, _last, _limit })
        {
            command.Options.Add(option);
        }

        _format.AddTo(command);
    }

    /// <inheritdoc cref="FormatOptions.Open"/>
    public BufferedStream Open(ParseResult parsed, CliStreams streams) => _format.Open(parsed, streams);

    /// <exception cref="UsageException">The options contradict each other or are out of range.</exception>
    public FindRequest Read(ParseResult parsed, bool isJson)
    {
        int? limit = parsed.GetValue(_limit);
        var request = new FindRequest
        {
            Topic = parsed.GetRequiredValue(_topic),
            Queue = parsed.GetValue(_queue),
            Offset = parsed.GetValue(_offset),
            Key = parsed.GetValue(_key),
            AllQueues = parsed.GetValue(_allQueues),
            Since = parsed.GetValue(_since),
            Until = parsed.GetValue(_until),
            Last = parsed.GetValue(_last),
            Limit = limit ?? UsualLimit,
            Format = _format.Format(parsed, isJson),
        };
        Check(request, limit is not null);
        return request;
    }

    private static void Check(FindRequest request, bool hasLimit)
    {
        bool isRange = request.Key is not null || request.Since is not null;
        if (new[] { request.Offset is not null, request.Last is not null, isRange }.Count(one => one) != 1)
            throw new UsageException("Give one of --offset (with --queue), --key, --since and --last.");
        if (request.Offset is not null && request.Queue is null)
            throw new UsageException("--offset counts within a queue: add --queue.");
        if (request.Queue is < 0)
            throw new UsageException("--queue must be 0 or more.");
        if (request.Offset is < 0)
            throw new UsageException("--offset must be 0 or more.");
        if (!isRange && (request.Until is not null || hasLimit))
            throw new UsageException("--until and --limit go with --key and --since.");
        if (request.AllQueues && (request.Key is null || request.Queue is not null))
            throw new UsageException("--all-queues goes with --key, and not with --queue.");
        if (Math.Min(request.Limit, request.Last ?? 1) < 1
            || Math.Max(request.Limit, request.Last ?? 1) > FoundMessages.MaxCount)
        {
            throw new UsageException($"--limit and --last must be 1 to {FoundMessages.MaxCount}.");
        }
    }
}
