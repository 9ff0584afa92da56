using System.CommandLine;

namespace EQueue.Cli.Commands;

/// <summary><c>--dry-run</c> of the verbs that take something away.</summary>
internal static class DryRunOption
{
    public static Option<bool> Create() =>
        new("--dry-run") { Description = "Only tells what would go; --yes is not needed." };
}
