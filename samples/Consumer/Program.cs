// Prints the messages of a topic as a member of a group, until Ctrl-C or SIGTERM: Consumer [ADDRESS] [TOPIC] [GROUP].
// Start it several times: the members share the topic's queues, and each message goes to one of them.
using System.Runtime.InteropServices;
using EQueue.Client;

string address = args.ElementAtOrDefault(0) ?? "localhost:9490";
string topic = args.ElementAtOrDefault(1) ?? "orders";
string group = args.ElementAtOrDefault(2) ?? "samples";

using var stop = new CancellationTokenSource();
using PosixSignalRegistration interrupted = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
using PosixSignalRegistration terminated = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);

await using var client = new EQueueClient(address);
// Disposing the consumer commits what was processed and gives its queues to the others.
await using Consumer consumer = client.CreateConsumer(group, [topic]);
try
{
    // A message counts as processed when the loop asks for the next one; a lost connection comes back by itself.
    await foreach (ReceivedMessage message in consumer.ReadAllAsync(stop.Token))
        Console.WriteLine($"{message.KeyText ?? "-"}\t{message.BodyText}");
}
catch (OperationCanceledException) when (stop.IsCancellationRequested)
{
    // Asked to stop.
}
catch (EQueueException exception)
{
    await Console.Error.WriteLineAsync($"stopped ({exception.Code}): {exception.Message}");
    return 1;
}

return 0;

void Stop(PosixSignalContext context)
{
    context.Cancel = true;
    stop.Cancel();
}
