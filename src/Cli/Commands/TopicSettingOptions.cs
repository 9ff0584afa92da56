using System.CommandLine;
using EQueue.Cli.Input;

namespace EQueue.Cli.Commands;

/// <summary>The settings of a topic as options; what is not given is not changed, or the broker's own.</summary>
internal sealed class TopicSettingOptions
{
    private const string Always = "0";
    private const int MostRetentionDays = 10_000;

    private readonly Option<int?> _queues = new("--queues")
    {
        Description = "Queues, 1 or more; they only grow, and then keys go to other queues.",
        HelpName = "N",
    };

    private readonly Option<TimeSpan?> _retentionAge = new("--retention-age")
    {
        Description = "How long messages are kept: 12h, 7d; 0 = without end.",
        HelpName = "DURATION",
        CustomParser = result =>
            result.Tokens[0].Value == Always ? TimeSpan.Zero : DurationText.Parse(result, MostRetentionDays),
    };

    private readonly Option<long?> _retentionBytes = Size(
        "--retention-bytes", "Bytes that the topic keeps; 0 = no bound.");

    private readonly Option<long?> _retentionCount = Count(
        "--retention-count", "Messages that each queue keeps; 0 = no bound.");

    private readonly Option<long?> _maxMessageBytes = Size("--max-message-bytes", "Largest body.");
    private readonly Option<long?> _maxBacklog = Count(
        "--max-backlog", "Messages that the slowest group may be behind; 0 = no bound.");

    private readonly Option<long?> _maxBacklogBytes = Size("--max-backlog-bytes", "The same in bytes; 0 = no bound.");
    private readonly Option<BacklogPolicy?> _backlogPolicy = new("--backlog-policy")
    {
        Description = "What happens at that bound: block (senders wait), reject, drop-oldest.",
        HelpName = "POLICY",
        CustomParser = result => result.Tokens[0].Value switch
        {
            "block" => BacklogPolicy.Block,
            "reject" => BacklogPolicy.Reject,
            "drop-oldest" => BacklogPolicy.DropOldest,
            var word => Wrong(result, $"'{word}' is no backlog policy: block, reject or drop-oldest."),
        },
    };

    private readonly Option<string?> _backlogGroups = new("--backlog-groups")
    {
        Description = "The groups that the backlog is counted for, with commas; \"\" = every group that has committed.",
        HelpName = "G,G",
    };

    /// <summary>Adds the options to a command.</summary>
    public TopicSettingOptions AddTo(Command command)
    {
        Option[] all =
        [
            _queues, _retentionAge, _retentionBytes, _retentionCount, _maxMessageBytes,
            _maxBacklog, _maxBacklogBytes, _backlogPolicy, _backlogGroups,
        ];
        foreach (Option option in all)
            command.Options.Add(option);
        return this;
    }

    /// <exception cref="UsageException">A value is out of its range.</exception>
    public TopicSettings Read(ParseResult parsed)
    {
        if (parsed.GetValue(_queues) is < 1)
            throw new UsageException("--queues must be 1 or more.");
        if (parsed.GetValue(_maxMessageBytes) is < 1 or > int.MaxValue)
            throw new UsageException($"--max-message-bytes must be 1 to {int.MaxValue}.");
        return new TopicSettings
        {
            QueueCount = parsed.GetValue(_queues),
            RetentionAge = parsed.GetValue(_retentionAge),
            RetentionBytes = parsed.GetValue(_retentionBytes),
            RetentionCount = parsed.GetValue(_retentionCount),
            MaxMessageBytes = (int?)parsed.GetValue(_maxMessageBytes),
            MaxBacklogMessages = parsed.GetValue(_maxBacklog),
            MaxBacklogBytes = parsed.GetValue(_maxBacklogBytes),
            BacklogPolicy = parsed.GetValue(_backlogPolicy),
            BacklogGroups = parsed.GetValue(_backlogGroups),
        };
    }

    private static Option<long?> Size(string name, string description) => new(name)
    {
        Description = description,
        HelpName = "SIZE",
        CustomParser = SizeText.Parse,
    };

    private static Option<long?> Count(string name, string description) => new(name)
    {
        Description = description,
        HelpName = "N",
        CustomParser = CountText.Parse,
    };

    private static BacklogPolicy? Wrong(System.CommandLine.Parsing.ArgumentResult result, string message)
    {
        result.AddError(message);
        return null;
    }
}
