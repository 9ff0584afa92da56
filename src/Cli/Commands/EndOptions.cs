using System.CommandLine;
using EQueue.Cli.Input;

namespace EQueue.Cli.Commands;

/// <summary>When a command that reads ends: <c>--count</c>, <c>--follow</c>, <c>--idle-exit</c>.</summary>
internal sealed class EndOptions
{
    private readonly Option<long?> _count = new("--count")
    {
        Description = "Ends after so many messages.",
        HelpName = "N",
    };

    private readonly Option<bool> _follow = new("--follow") { Description = "Waits for messages that come later." };

    private readonly Option<TimeSpan?> _idleExit = new("--idle-exit")
    {
        Description = "Ends when no message came for so long: 500ms, 5s, 1m.",
        HelpName = "TIME",
        CustomParser = result => DurationText.Parse(result),
    };

    public void AddTo(Command command)
    {
        command.Options.Add(_count);
        command.Options.Add(_follow);
        command.Options.Add(_idleExit);
    }

    /// <exception cref="UsageException">The count is out of its range.</exception>
    public void Check(ParseResult parsed)
    {
        if (Count(parsed) is < 1)
            throw new UsageException("--count must be 1 or more.");
    }

    public long? Count(ParseResult parsed) => parsed.GetValue(_count);

    public bool Follows(ParseResult parsed) => parsed.GetValue(_follow);

    public TimeSpan? IdleExit(ParseResult parsed) => parsed.GetValue(_idleExit);
}
