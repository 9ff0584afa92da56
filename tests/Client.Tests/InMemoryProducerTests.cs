using EQueue.MessageStore;

namespace EQueue.Client.Tests;

/// <summary>What holds for producers over sockets holds in memory.</summary>
public sealed class InMemoryProducerTests : ProducerTests
{
    private protected override Task<TestBroker> StartAsync(FlushPolicy flush = FlushPolicy.Async, int queues = 4) =>
        TestBroker.StartAsync(flush, queues, inMemory: new InMemoryEndPoint());
}
