// A consumer of a group in a process of its own, for tests that kill and stop it.
// Usage: EQueue.GroupPeer SERVER GROUP TOPIC SESSION_TIMEOUT_MS
// Prints a line for each event, with the machine's monotonic clock: "+ TIME QUEUE" given, "- TIME QUEUE" about to be
// released, "m QUEUE OFFSET KEY BODY" processed. Leaves when its input ends.
using System.Diagnostics;
using System.Globalization;
using System.Text;

using var stop = new CancellationTokenSource();
// Time enough for a machine on which much else runs.
await using var client = new EQueueClient(new ClientOptions
{
    Addresses = args[0],
    RequestTimeout = TimeSpan.FromMinutes(2),
});
await using Consumer consumer = client.CreateConsumer(args[1], [args[2]], new ConsumerOptions
{
    SessionTimeout = TimeSpan.FromMilliseconds(int.Parse(args[3], CultureInfo.InvariantCulture)),
    AutoCommitInterval = TimeSpan.FromMilliseconds(100),
    Assigned = (queues, _) => Tell('+', queues),
    Revoking = (queues, _) => Tell('-', queues),
});
var watch = Task.Run(async () =>
{
    await Console.In.ReadToEndAsync();
    await stop.CancelAsync();
});
try
{
    await foreach (ReceivedMessage message in consumer.ReadAllAsync(stop.Token))
    {
        string key = Encoding.UTF8.GetString(message.Key.Span);
        string body = Encoding.UTF8.GetString(message.Body.Span);
        Write($"m {message.Queue} {message.Offset} {key} {body}");
    }
}
catch (OperationCanceledException) when (stop.IsCancellationRequested)
{
    // The input has ended.
}

await watch;

static ValueTask Tell(char what, IReadOnlyList<QueueProgress> queues)
{
    foreach (QueueProgress queue in queues)
        Write($"{what} {Stopwatch.GetTimestamp()} {queue.Queue}");
    return ValueTask.CompletedTask;
}

// One write system call a line: what a killed process has written is whole, and everything that it processed is in it.
static void Write(string line)
{
    lock (Console.Out)
    {
        Console.Out.Write(line + "\n");
        Console.Out.Flush();
    }
}
