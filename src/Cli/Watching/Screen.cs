using System.Text;
using EQueue.Cli.Output;

namespace EQueue.Cli.Watching;

/// <summary>Shows rounds of the same report: in place on a terminal, one after the other elsewhere.</summary>
internal sealed class Screen(CliStreams streams, TimeProvider time, bool redraws)
{
    /// <summary>Cursor to the upper left; what is below it goes.</summary>
    private static readonly byte[] Clear = Encoding.ASCII.GetBytes("\u001b[H\u001b[2J");

    /// <summary>Shows rounds until it is told to end, by the caller or by the round itself.</summary>
    /// <param name="interval">From one round to the next.</param>
    /// <param name="rounds">How many; null = until cancelled.</param>
    /// <param name="round">Gathers a report and gives what prints it, so that a slow answer does not leave the screen
    /// empty.</param>
    /// <param name="cancellationToken">Ends it.</param>
    /// <returns>The exit code.</returns>
    public async Task<int> RunAsync(
        TimeSpan interval,
        int? rounds,
        Func<CancellationToken, Task<Action<CliStreams>>> round,
        CancellationToken cancellationToken)
    {
        try
        {
            for (int shown = 0; shown != rounds; shown++)
            {
                if (shown > 0)
                    await Task.Delay(interval, time, cancellationToken);
                Action<CliStreams> print = await round(cancellationToken);
                using var page = new MemoryStream();
                if (redraws)
                    page.Write(Clear);
                Stream escaped = streams.IsTerminal ? new TerminalStream(page) : page;
                print(streams with { Output = escaped });
                escaped.Flush();
                await streams.ExactOutput.WriteAsync(
                    page.GetBuffer().AsMemory(0, (int)page.Length), CancellationToken.None);
                await streams.Output.FlushAsync(CancellationToken.None);
            }
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            return ExitCode.Interrupted;
        }

        return ExitCode.Done;
    }
}
