using System.CommandLine;
using System.Diagnostics;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using EQueue.Cli.Sending;

namespace EQueue.Cli.Commands;

/// <summary><c>send</c>: one message, a file, or every line of a file or of standard input.</summary>
internal static class SendCommand
{
    /// <summary>Lines under way at once; the producer's memory bounds their bytes.</summary>
    private const int WindowSize = 20_000;

    /// <summary>How long what is under way may take once the command was interrupted.</summary>
    private static readonly TimeSpan Farewell = TimeSpan.FromSeconds(2);

    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var sendOptions = new SendOptions();
        var command = new Command(
            "send",
            "Sends messages and ends when every one is acknowledged. "
            + "Example: equeue send orders 'one coffee' --key customer-7 --tag paid --receipts");
        sendOptions.AddTo(command);
        command.SetAction((parsed, cancellationToken) =>
            RunAsync(new SendJob(options, sendOptions, parsed, streams), cancellationToken));
        return command;
    }

    private static async Task<int> RunAsync(SendJob job, CancellationToken cancellationToken)
    {
        (GlobalOptions options, SendOptions sendOptions, ParseResult parsed, CliStreams streams) = job;
        bool readsMessages = options.IsJson(parsed) && !streams.IsInputTerminal && !sendOptions.HasSource(parsed);
        SendRequest request = sendOptions.Read(parsed, readsMessages);
        await using Stream? input = LineReader.Open(
            readsMessages ? "-" : sendOptions.Lines(parsed), streams.Input);
        LineReader? lines = input is null ? null : new LineReader(input, LineReader.MaxMessageLineBytes);
        // Nothing on standard input is a command line without a message, whatever the broker says.
        if (readsMessages && !await lines!.ReadAsync(cancellationToken))
            throw new UsageException(SendOptions.OneSource);
        byte[] body = lines is null ? await sendOptions.ReadBodyAsync(parsed, cancellationToken) : [];
        await using EQueueClient client = options.CreateClient(parsed);
        // A broker that was never there is told apart, soon, from one that restarts while messages are under way.
        await client.Admin.DescribeBrokerAsync(cancellationToken);
        bool isNew = await NewTopic.IsMissingAsync(client.Admin, request.Topic, cancellationToken);
        // Flushed below and never disposed: that would close the program's standard output.
        var output = new BufferedStream(streams.Output, 64 << 10);
        ReceiptWriter? receipts = sendOptions.HasReceipts(parsed)
            ? new ReceiptWriter(output, options.IsJson(parsed)) : null;
        var window = new SendWindow(WindowSize, receipts);
        long started = Stopwatch.GetTimestamp();
        bool isInterrupted;
        try
        {
            await using Producer producer = client.CreateProducer(new ProducerOptions
            {
                Durability = sendOptions.Durability(parsed),
                DeliveryTimeout = sendOptions.DeliveryTimeout(parsed),
                Compression = request.Compression,
            });
            Task closing = Task.CompletedTask;
            await using CancellationTokenRegistration onSignal = cancellationToken.Register(
                () => closing = producer.CloseAsync(Farewell).AsTask());
            if (lines is null)
                await window.AddAsync(SendOne(producer, request, body));
            isInterrupted = lines is not null && await new LineSender(producer, request, window, TimeProvider.System)
                .RunAsync(lines, readsMessages, cancellationToken);
            await window.CompleteAsync();
            await closing;
        }
        finally
        {
            receipts?.Flush();
        }

        if (isNew && window.Stored > 0)
        {
            await streams.Error.WriteLineAsync(
                await NewTopic.TellAsync(client.Admin, request.Topic, cancellationToken));
        }

        isInterrupted |= window.WasClosed;
        return await ReportAsync(window, request, streams, Stopwatch.GetElapsedTime(started), isInterrupted);
    }

    private static ValueTask<SendReceipt> SendOne(Producer producer, SendRequest request, ReadOnlySpan<byte> body)
    {
        var content = new RecordContent
        {
            Key = request.Key,
            Body = body,
            Tag = request.Tag,
            Properties = request.Properties,
        };
        return producer.SendAsync(request.Topic, content, CancellationToken.None);
    }

    private static async Task<int> ReportAsync(
        SendWindow window, SendRequest request, CliStreams streams, TimeSpan elapsed, bool isInterrupted)
    {
        string messages = window.Stored == 1 ? "message" : "messages";
        string done = $"sent {window.Stored} {messages} to {request.Topic} in {elapsed.TotalSeconds:0.0} s";
        if (isInterrupted)
            throw new EQueueException(ErrorCode.Cancelled, $"interrupted: {done}{LeftOf(window)}");
        if (window.Failure is null)
        {
            await streams.Error.WriteLineAsync(done);
            return ExitCode.Done;
        }

        throw window.Stored == 0
            ? window.Failure
            : new PartlyDoneException($"{done}; {window.Failed} failed: {window.Failure.Message}", window.Failure);
    }

    /// <summary>What became of the messages that were taken in and are not acknowledged.</summary>
    private static string LeftOf(SendWindow window)
    {
        long notSent = window.Failed - window.Unknown;
        string unsent = notSent == 0 ? "" : $"; {notSent} not sent";
        return window.Unknown == 0 ? unsent : $"{unsent}; {window.Unknown} without an answer, which may be stored";
    }

    private sealed record SendJob(
        GlobalOptions Options, SendOptions SendOptions, ParseResult Parsed, CliStreams Streams);
}
