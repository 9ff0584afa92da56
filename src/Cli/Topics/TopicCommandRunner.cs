using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Output;

namespace EQueue.Cli.Topics;

/// <summary>One verb for the topics that a command line names.</summary>
/// <typeparam name="T">What the broker answers for one topic.</typeparam>
/// <param name="Done">The verb in the past, for the report: created, described.</param>
/// <param name="Request">Asks the broker about one topic.</param>
/// <param name="Write">Prints the answer for one topic.</param>
internal sealed record TopicCommandRunner<T>(
    string Done,
    Func<EQueueAdmin, string, CancellationToken, ValueTask<T>> Request,
    Func<TopicWriter, T, bool, Task> Write)
{
    /// <summary>Does it for one topic as the only one, or for many with many requests under way.</summary>
    /// <exception cref="PartlyDoneException">It is done for some of them.</exception>
    public async Task<int> RunAsync(
        GlobalOptions options,
        TopicNames names,
        ParseResult parsed,
        CliStreams streams,
        CancellationToken cancellationToken)
    {
        bool areMany = names.AreMany(parsed);
        bool isJson = options.IsJson(parsed);
        // Flushed below and never disposed: that would close the program's standard output.
        var writer = new TopicWriter(
            streams with { Output = new BufferedStream(streams.Output, 64 << 10) }, isJson);
        await using EQueueClient client = options.CreateClient(parsed);
        var window = new TopicWindow<T>(
            name => Request(client.Admin, name, cancellationToken), answer => Write(writer, answer, areMany))
        {
            Show = writer.FlushAsync,
            Errors = areMany ? new ErrorReport(streams.Error, isJson) : null,
        };
        try
        {
            await window.RunAsync(names.ReadAsync(parsed, streams.Input, cancellationToken), cancellationToken);
        }
        finally
        {
            await writer.FlushAsync();
        }

        window.Demand(Done, areMany);
        if (areMany)
            await streams.Error.WriteLineAsync($"{Done} {window.Done} topics");
        return ExitCode.Done;
    }
}
