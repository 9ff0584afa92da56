using System.CommandLine;
using EQueue.Cli.Input;

namespace EQueue.Cli.Commands;

/// <summary>Options of the commands that look again and again.</summary>
internal static class WatchOptions
{
    public static Option<TimeSpan> Interval(TimeSpan usual) => new("--interval")
    {
        Description = "From one look to the next: 500ms, 2s, 1m; 100ms or more.",
        HelpName = "TIME",
        DefaultValueFactory = _ => usual,
        CustomParser = result =>
        {
            TimeSpan interval = DurationText.Parse(result);
            if (interval != default && interval < TimeSpan.FromMilliseconds(100))
                result.AddError($"--interval must be 100ms or more; found '{result.Tokens[0].Value}'.");
            return interval;
        },
    };
}
