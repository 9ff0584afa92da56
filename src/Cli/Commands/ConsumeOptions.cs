using System.CommandLine;
using EQueue.Cli.Consuming;
using EQueue.Cli.Input;

namespace EQueue.Cli.Commands;

/// <summary>The arguments and options of <c>consume</c>, and the request that they make.</summary>
internal sealed class ConsumeOptions
{
    private readonly Argument<string> _topic = new("topic") { Description = "The topic's name." };

    private readonly Option<string?> _group = new("--group")
    {
        Description = "Reads all queues as a member of this group and commits what was printed.",
        HelpName = "G",
    };

    private readonly Option<int?> _queue = new("--queue")
    {
        Description = "Reads one queue, by number, and commits nothing.",
        HelpName = "N",
    };

    private readonly Option<StartPosition> _from = new("--from")
    {
        Description = "Where to start; with --group only where the group has committed nothing.",
        HelpName = "begin|end|offset:N|time:ISO",
        DefaultValueFactory = _ => StartPosition.Begin,
        CustomParser = StartText.Parse,
    };

    private readonly Option<string?> _tag = new("--tag")
    {
        Description = "Only messages with this tag.",
        HelpName = "X",
    };

    private readonly EndOptions _end = new();

    private readonly Option<bool> _yes = new("--yes")
    {
        Description = "Really, on a terminal: also when the group has members, or messages that it has not consumed, "
            + "or with --follow progress.",
    };

    private readonly FormatOptions _format = new();

    public void AddTo(Command command)
    {
        command.Arguments.Add(_topic);
        foreach (Option option in new Option[] { _group, _queue, _from, _tag })
            command.Options.Add(option);
        _end.AddTo(command);
        command.Options.Add(_yes);
        _format.AddTo(command);
    }

    /// <inheritdoc cref="FormatOptions.Open"/>
    public BufferedStream Open(ParseResult parsed, CliStreams streams) => _format.Open(parsed, streams);

    /// <exception cref="UsageException">The options contradict each other.</exception>
    public ConsumeRequest Read(ParseResult parsed, bool isJson)
    {
        string? group = parsed.GetValue(_group);
        int? queue = parsed.GetValue(_queue);
        if (group is null == queue is null)
            throw new UsageException("Give exactly one of --group and --queue.");
        if (group is "")
            throw new UsageException("--group must not be empty.");
        if (queue is < 0)
            throw new UsageException("--queue must be 0 or more.");
        _end.Check(parsed);
        return new ConsumeRequest
        {
            Topic = parsed.GetRequiredValue(_topic),
            Group = group,
            Queue = queue ?? 0,
            From = parsed.GetValue(_from),
            Tags = parsed.GetValue(_tag) is { } tag ? [tag] : [],
            Count = _end.Count(parsed),
            Follow = _end.Follows(parsed),
            TakesPart = parsed.GetValue(_yes),
            IdleExit = _end.IdleExit(parsed),
            Format = _format.Format(parsed, isJson),
        };
    }
}
