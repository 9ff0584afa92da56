using System.CommandLine;
using System.Diagnostics;
using System.Globalization;
using EQueue.Cli.Connecting;
using EQueue.Cli.Consuming;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>forward</c>: from a topic of one broker to a topic of another, or of the same, at least once.</summary>
internal static class ForwardCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var forward = new ForwardOptions();
        var command = new Command(
            "forward",
            "Sends a topic's messages on to another topic, at least once: those that are there when it starts, or with "
            + "--follow all that come. "
            + "Example: equeue forward --from 127.0.0.1:9490/orders --to backup.example:9490/orders");
        forward.AddTo(command);
        command.SetAction(async (parsed, cancellationToken) =>
        {
            if (options.NamesServer(parsed))
                throw new UsageException("forward takes its brokers from --from and --to, not from --server.");
            forward.Check(parsed);
            using var log = new ForwardLog(streams.ExactError, streams.IsErrorTerminal, TimeProvider.System);
            (TopicAddress from, TopicAddress to) = (forward.From(parsed), forward.To(parsed));
            await using EQueueClient source =
                options.CreateClient(parsed, from.Addresses, log, GroupCheck.ForwarderName);
            await using EQueueClient target =
                options.CreateClient(parsed, to.Addresses, log, GroupCheck.ForwarderName);
            TopicDescription read = await source.Admin.DescribeTopicAsync(from.Topic, cancellationToken);
            if (forward.Group(parsed) is { } group && streams.IsTerminal && !forward.TakesPart(parsed))
                await GroupCheck.DemandForwardersAsync(source.Admin, group, from.Topic, cancellationToken);
            TopicDescription written = await FindOrCreateAsync(target, to, read, log, cancellationToken);
            if (read.Id == written.Id)
            {
                throw new UsageException(
                    $"{from} and {to} are the same topic of the same broker: what is forwarded would be read again, "
                    + "without end.");
            }

            ForwardRequest request = forward.Read(parsed, written, options.Timeout(parsed));
            using var forwarder = new Forwarder(request, source, target, log, TimeProvider.System);
            long started = Stopwatch.GetTimestamp();
            try
            {
                await RunAsync(forwarder, log, cancellationToken);
            }
            finally
            {
                Report(forwarder, request, Stopwatch.GetElapsedTime(started), streams, options.IsJson(parsed));
            }

            SkipRemarks.Conclude(log.SkippedCount);
            return ExitCode.Done;
        });
        return command;
    }

    /// <summary>Forwards, and on a terminal shows every second how far it is.</summary>
    private static async Task RunAsync(Forwarder forwarder, ForwardLog log, CancellationToken cancellationToken)
    {
        using var ended = new CancellationTokenSource();
        Task showing = log.ShowsProgress ? ShowProgressAsync(forwarder, log, ended.Token) : Task.CompletedTask;
        try
        {
            await forwarder.RunAsync(cancellationToken);
        }
        finally
        {
            await ended.CancelAsync();
            await showing;
            log.EndProgress();
        }
    }

    private static async Task ShowProgressAsync(Forwarder forwarder, ForwardLog log, CancellationToken ended)
    {
        using var timer = new PeriodicTimer(TimeSpan.FromSeconds(1));
        long at = Stopwatch.GetTimestamp();
        long before = 0;
        try
        {
            while (await timer.WaitForNextTickAsync(ended))
            {
                (long messages, long now) = (forwarder.Messages, Stopwatch.GetTimestamp());
                double perSecond = (messages - before) / Stopwatch.GetElapsedTime(at, now).TotalSeconds;
                log.ShowProgress(string.Create(
                    CultureInfo.InvariantCulture,
                    $"forwarded {messages:N0} messages, {perSecond:N0}/s; {forwarder.UnderWayBytes / 1e6:N1} MB under "
                    + $"way, {forwarder.MessagesToRead:N0} messages to read"));
                (before, at) = (messages, now);
            }
        }
        catch (OperationCanceledException)
        {
            // The run has ended.
        }
    }

    /// <summary>A missing target gets as many queues as the source, so that each key has its queue there too.</summary>
    private static async Task<TopicDescription> FindOrCreateAsync(
        EQueueClient target,
        TopicAddress to,
        TopicDescription source,
        ForwardLog log,
        CancellationToken cancellationToken)
    {
        try
        {
            return await target.Admin.DescribeTopicAsync(to.Topic, cancellationToken);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownTopic)
        {
            // Made below.
        }

        try
        {
            TopicDescription made = await target.Admin.CreateTopicAsync(
                to.Topic, new TopicSettings { QueueCount = source.Queues.Count }, cancellationToken);
            log.Write($"made {to} with {made.Queues.Count} queues");
            return made;
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.TopicExists)
        {
            return await target.Admin.DescribeTopicAsync(to.Topic, cancellationToken);
        }
    }

    private static void Report(
        Forwarder forwarder, ForwardRequest request, TimeSpan elapsed, CliStreams streams, bool isJson)
    {
        (long messages, double seconds) = (forwarder.Messages, elapsed.TotalSeconds);
        if (!isJson)
        {
            string noun = messages == 1 ? "message" : "messages";
            streams.Error.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"forwarded {messages} {noun} from {request.From} to {request.To} in {seconds:0.0} s, "
                + $"{messages / seconds:0}/s, as group {request.Group}"));
            return;
        }

        JsonLine.Write(streams.Output, json =>
        {
            json.WriteString("from", request.From.ToString());
            json.WriteString("to", request.To.ToString());
            json.WriteString("group", request.Group);
            json.WriteNumber("forwarded", messages);
            json.WriteNumber("bytes", forwarder.BodyBytes);
            json.WriteNumber("seconds", Math.Round(seconds, 3));
            json.WriteNumber("perSecond", Math.Round(messages / seconds, 1));
        });
        streams.Output.Flush();
    }
}
