// Sends each line of standard input as a message: Producer [ADDRESS] [TOPIC].
// "customer-7: two teas" is the message "two teas" with the key customer-7; messages of one key keep their order.
using EQueue.Client;

string address = args.ElementAtOrDefault(0) ?? "localhost:9490";
string topic = args.ElementAtOrDefault(1) ?? "orders";

await using var client = new EQueueClient(address);
await using Producer producer = client.CreateProducer();

// Sends are not awaited one by one: those under way together fill batches.
// A send that the producer has no room for waits, so the lines that are read ahead are bounded here.
var underWay = new Queue<Task<SendReceipt>>();
int failures = 0;
while (await Console.In.ReadLineAsync() is { } line)
{
    (string? key, string body) = Split(line);
    underWay.Enqueue(producer.SendAsync(topic, body, key).AsTask());
    if (underWay.Count >= 1000) await ReportAsync(underWay.Dequeue());
}

while (underWay.TryDequeue(out Task<SendReceipt>? send)) await ReportAsync(send);
return failures == 0 ? 0 : 1;

async Task ReportAsync(Task<SendReceipt> send)
{
    try
    {
        SendReceipt receipt = await send;
        Console.WriteLine($"{receipt.Topic} queue {receipt.Queue} offset {receipt.Offset.Value} {receipt.Durability}");
    }
    catch (EQueueException exception)
    {
        // What may pass by itself was retried already, for as long as ProducerOptions.DeliveryTimeout allows.
        failures++;
        await Console.Error.WriteLineAsync($"not sent ({exception.Code}): {exception.Message}");
    }
}

static (string? Key, string Body) Split(string line)
{
    int colon = line.IndexOf(": ", StringComparison.Ordinal);
    return colon < 0 ? (null, line) : (line[..colon], line[(colon + 2)..]);
}
