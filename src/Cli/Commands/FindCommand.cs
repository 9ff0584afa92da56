using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Finding;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>find</c>: prints single messages that a user asks about, and commits nothing.</summary>
internal static class FindCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var find = new FindOptions();
        var command = new Command(
            "find",
            "Prints messages by place, key or time, or the latest, the oldest first. "
            + "Example: equeue find orders --key customer-7 --since 2026-01-31T10:00:00Z");
        find.AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            FindRequest request = find.Read(parsed, options.IsJson(parsed));
            await using EQueueClient client = options.CreateClient(parsed);
            FoundMessages found = await FindAsync(client.Admin, request, cancellationToken);
            BufferedStream output = find.Open(parsed, streams);
            using (var writer = new MessageWriter(output, request.Format))
            {
                foreach (DetachedMessage message in found.Messages)
                    writer.Write(message);
            }

            await output.FlushAsync(CancellationToken.None);
            return await ConcludeAsync(request, found, streams.Error);
        });
        return command;
    }

    private static async ValueTask<FoundMessages> FindAsync(
        EQueueAdmin admin, FindRequest request, CancellationToken cancellationToken)
    {
        if (request.Offset is { } offset)
        {
            DetachedMessage? message = await admin.ReadMessageAsync(
                request.Topic, request.Queue!.Value, offset, cancellationToken);
            return new FoundMessages(message is null ? [] : [message], HasMore: false, UnreadableCount: 0);
        }

        if (request.Last is { } count)
        {
            FoundMessages latest = await admin.ReadLatestAsync(request.Topic, count, request.Queue, cancellationToken);
            return latest with { HasMore = false };
        }

        if (request.Key is null)
        {
            return await admin.ReadFromTimeAsync(
                request.Topic, request.Since!.Value, request.Until, request.Queue, request.Limit, cancellationToken);
        }

        var search = new KeySearchOptions
        {
            Limit = request.Limit,
            Queue = request.Queue,
            AllQueues = request.AllQueues,
            Since = request.Since,
            Until = request.Until,
        };
        return await admin.FindByKeyAsync(request.Topic, request.Key, search, cancellationToken);
    }

    /// <summary>Says what is not among what was printed.</summary>
    private static async ValueTask<int> ConcludeAsync(FindRequest request, FoundMessages found, TextWriter error)
    {
        if (found.UnreadableCount > 0)
        {
            string message =
                $"{found.UnreadableCount} of the messages could not be looked into: damaged, or compressed in a way "
                + $"that is not understood; {found.Messages.Count} printed.";
            throw new PartlyDoneException(message, new EQueueException(ErrorCode.DamagedData, message));
        }

        if (found.Messages.Count == 0)
            throw new NothingFoundException($"{request.Topic} has {request.Sought}.");
        if (found.HasMore)
            await error.WriteLineAsync($"there are more than {found.Messages.Count}: see --limit");
        return ExitCode.Done;
    }
}
