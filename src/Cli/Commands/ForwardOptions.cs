using System.CommandLine;
using EQueue.Cli.Input;
using EQueue.Protocol;

namespace EQueue.Cli.Commands;

/// <summary>The options of <c>forward</c>, and the request that they make.</summary>
internal sealed class ForwardOptions
{
    private readonly Option<TopicAddress?> _from = new("--from")
    {
        Description = "The topic that is read, and its broker.",
        HelpName = "HOST:PORT/T",
        Required = true,
        CustomParser = TopicAddressText.Parse,
    };

    private readonly Option<TopicAddress?> _to = new("--to")
    {
        Description = "The topic that is written to, and its broker; made with as many queues when it is missing.",
        HelpName = "HOST:PORT/T",
        Required = true,
        CustomParser = TopicAddressText.Parse,
    };

    private readonly Option<string?> _group = new("--group")
    {
        Description = "The group at the source that keeps the progress; without it one of the target's own, "
            + "forward-T-ID. Several processes with one group share the queues.",
        HelpName = "G",
    };

    private readonly Option<StartPosition> _start = new("--start")
    {
        Description = "Where to start in queues in which the group has committed nothing.",
        HelpName = "begin|end|offset:N|time:ISO",
        DefaultValueFactory = _ => StartPosition.Begin,
        CustomParser = StartText.Parse,
    };

    private readonly Option<string?> _durability = DurabilityText.Option(
        "What to wait for at the target; without it the broker's flush policy.");

    private readonly EndOptions _end = new();

    private readonly Option<bool> _yes = new("--yes")
    {
        Description = "Really, on a terminal: also when the group of --group has members that are no forwarders.",
    };

    public void AddTo(Command command)
    {
        foreach (Option option in new Option[] { _from, _to, _group, _start, _durability })
            command.Options.Add(option);
        _end.AddTo(command);
        command.Options.Add(_yes);
    }

    public TopicAddress From(ParseResult parsed) => parsed.GetRequiredValue(_from)!;

    public TopicAddress To(ParseResult parsed) => parsed.GetRequiredValue(_to)!;

    /// <summary>The group that was named; null: one of the target's own.</summary>
    public string? Group(ParseResult parsed) => parsed.GetValue(_group);

    /// <summary>Whether the group's messages may be taken from its members.</summary>
    public bool TakesPart(ParseResult parsed) => parsed.GetValue(_yes);

    /// <exception cref="UsageException">An option's value cannot be.</exception>
    public void Check(ParseResult parsed)
    {
        if (Group(parsed) is { } group && !NameRules.IsValid(group))
            throw new UsageException($"--group must be a name of 1 to 249 of A-Z a-z 0-9 . _ -; found '{group}'.");
        _end.Check(parsed);
    }

    /// <param name="parsed">Checked before.</param>
    /// <param name="target">The topic that is written to.</param>
    /// <param name="patience">How long the target may take when the command is to end.</param>
    public ForwardRequest Read(ParseResult parsed, TopicDescription target, TimeSpan patience) => new()
    {
        From = From(parsed),
        To = To(parsed),
        Group = Group(parsed) ?? GroupFor(target),
        Start = parsed.GetValue(_start),
        Durability = DurabilityText.Read(parsed.GetValue(_durability)),
        Count = _end.Count(parsed),
        Follow = _end.Follows(parsed),
        IdleExit = _end.IdleExit(parsed),
        Patience = patience,
    };

    /// <summary>
    /// The same for the same topic whatever its broker's address is, and another for a topic that was made anew, which
    /// has nothing of what the former one had.
    /// </summary>
    private static string GroupFor(TopicDescription target)
    {
        string topic = target.Topic.Length <= 200 ? target.Topic : target.Topic[..200];
        return $"forward-{topic}-{target.Id.Value:N}";
    }
}
