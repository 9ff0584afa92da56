// A broker inside this process, a producer and a consumer that talk to it in memory: Embedded [DIRECTORY].
// Run it twice on the same directory: the second run continues where the first one ended.
using EQueue.Broker;
using EQueue.Client;

var here = new InMemoryEndPoint();
await using EQueueBroker broker = await EQueueBroker.StartAsync(
    new BrokerOptions { Listen = "", InMemory = here, DataDirectory = args.ElementAtOrDefault(0) ?? "embedded-data" });

await using var client = new EQueueClient(new ClientOptions { InMemory = here });
await using Producer producer = client.CreateProducer();
await Task.WhenAll(Enumerable.Range(1, 5).Select(number =>
    producer.SendAsync("orders", $"coffee {number}", key: "customer-7").AsTask()));

// StopAtEnd: the loop ends at the end that the queues had when it began.
await using Consumer consumer = client.CreateConsumer(
    group: "kitchen", topics: ["orders"], new ConsumerOptions { StopAtEnd = true });
await foreach (ReceivedMessage message in consumer.ReadAllAsync())
    Console.WriteLine($"offset {message.Offset.Value}: {message.BodyText}");
