using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Consuming;

namespace EQueue.Cli.Commands;

/// <summary><c>consume</c>: prints messages, as a member of a group or of one queue.</summary>
internal static class ConsumeCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var consume = new ConsumeOptions();
        var command = new Command(
            "consume",
            "Prints messages: those that are there when it starts, or with --follow all that come. "
            + "Example: equeue consume orders --group billing --follow");
        consume.AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            ConsumeRequest request = consume.Read(parsed, options.IsJson(parsed));
            using var skipped = new SkipRemarks(streams.Error);
            await using EQueueClient client = options.CreateClient(parsed, skipped);
            await client.Admin.DescribeTopicAsync(request.Topic, cancellationToken);
            if (request.Group is not null && streams.IsTerminal && !request.TakesPart)
                await GroupCheck.DemandAsync(client.Admin, request, cancellationToken);
            var printer = new MessagePrinter(consume.Open(parsed, streams), request, TimeProvider.System)
            {
                IsReaderGone = streams.IsReaderGone,
                Remark = text => streams.Error.WriteLine($"equeue: {text}"),
            };
            int exitCode = request.Group is null
                ? await ReadQueueAsync(client, request, printer, cancellationToken)
                : await ReadGroupAsync(client, request, printer, cancellationToken);
            if (exitCode == ExitCode.Done)
                skipped.Conclude();
            return exitCode;
        });
        return command;
    }

    /// <summary>How long the farewell to a broker may take once the command was interrupted.</summary>
    private static readonly TimeSpan Farewell = TimeSpan.FromMilliseconds(500);

    private static async Task<int> ReadGroupAsync(
        EQueueClient client, ConsumeRequest request, MessagePrinter printer, CancellationToken cancellationToken)
    {
        await using Consumer consumer = client.CreateConsumer(request.Group!, [request.Topic], new ConsumerOptions
        {
            StartAt = request.From,
            Tags = request.Tags,
            StopAtEnd = !request.Follow,
            WhenDamaged = DamagedDataPolicy.Skip,
            AutoCommit = false,
            AutoCreateTopics = false,
        });
        printer.CommitAsync = token => consumer.CommitAsync(token);
        printer.CommitLastAsync = (message, token) => consumer.CommitAsync(message, token);
        int exitCode = await printer.RunAsync(consumer.ReadAllAsync, cancellationToken);
        if (exitCode == ExitCode.Interrupted)
            await consumer.CloseAsync(Farewell);
        return exitCode;
    }

    private static async Task<int> ReadQueueAsync(
        EQueueClient client, ConsumeRequest request, MessagePrinter printer, CancellationToken cancellationToken)
    {
        await using QueueReader reader = client.CreateReader(new ReaderOptions
        {
            Tags = request.Tags,
            StopAtEnd = !request.Follow,
            WhenDamaged = DamagedDataPolicy.Skip,
        });
        await reader.AssignAsync(request.Topic, request.Queue, request.From, cancellationToken);
        return await printer.RunAsync(reader.ReadAllAsync, cancellationToken);
    }
}
