using System.CommandLine;
using System.Text;
using EQueue.Cli.Input;

namespace EQueue.Cli.Access;

/// <summary>Has a person agree to what reaches further than it looks: a question on a terminal, <c>--yes</c>
/// elsewhere.</summary>
internal sealed class Agreement(CliStreams streams, bool isJson)
{
    private const int MostAnswerBytes = 4096;

    public static Option<bool> Option() =>
        new("--yes") { Description = "Do it also when it changes what all others may, without a question." };

    /// <summary>Warns, and asks unless that was agreed to before.</summary>
    /// <returns>Whether it shall be done; when not, that was told.</returns>
    /// <exception cref="UsageException">There is no terminal to ask on.</exception>
    public async ValueTask<bool> AskAsync(string warning, bool isAgreed, CancellationToken cancellationToken)
    {
        if (isAgreed)
        {
            if (!isJson)
                await streams.Error.WriteLineAsync(warning);
            return true;
        }

        if (isJson || !streams.IsInputTerminal || !streams.IsErrorTerminal)
            throw new UsageException($"{warning} Add --yes to do it; nothing was changed.");
        await streams.Error.WriteLineAsync(warning);
        await streams.Error.WriteAsync("Do it? [y/N] ");
        await streams.Error.FlushAsync(cancellationToken);
        var lines = new LineReader(streams.Input, MostAnswerBytes);
        bool isAnswered = await lines.ReadAsync(cancellationToken);
        string answer = isAnswered ? Encoding.UTF8.GetString(lines.Current.Span).Trim() : "";
        if (answer.Equals("y", StringComparison.OrdinalIgnoreCase)
            || answer.Equals("yes", StringComparison.OrdinalIgnoreCase))
        {
            return true;
        }

        await streams.Error.WriteLineAsync("nothing was changed");
        return false;
    }
}
