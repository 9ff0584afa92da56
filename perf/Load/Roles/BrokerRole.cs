using System.Text.Json;
using EQueue.Broker;
using EQueue.MessageStore;

namespace EQueue.Load.Roles;

/// <summary>The broker with the product's own settings: <c>start</c> with a <see cref="BrokerOrder"/>.</summary>
internal sealed class BrokerRole : IRole
{
    private EQueueBroker? _broker;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        BrokerOrder order = RoleJson.Read<BrokerOrder>(argument);
        var standard = new BrokerOptions();
        FlushPolicy policy = order.Flush == FlushMode.Sync ? FlushPolicy.Sync : FlushPolicy.Async;
        BrokerOptions options = standard with
        {
            Listen = "127.0.0.1:0",
            DataDirectory = order.DataDirectory,
            Store = standard.Store with { FlushPolicy = policy },
            Limits = standard.Limits with
            {
                MaxConnections = order.MaxConnections ?? standard.Limits.MaxConnections,
            },
        };
        _broker = await EQueueBroker.StartAsync(options, cancellationToken: cancellationToken);
        return new BrokerResult($"{_broker.EndPoint}");
    }

    public async ValueTask DisposeAsync()
    {
        if (_broker is not null)
            await _broker.DisposeAsync();
    }
}

/// <summary>How to start the broker.</summary>
internal sealed record BrokerOrder(string DataDirectory, FlushMode Flush)
{
    /// <summary>Connections that it takes; null: as many as the product's own setting.</summary>
    public int? MaxConnections { get; init; }
}

/// <summary>Where the broker listens.</summary>
internal sealed record BrokerResult(string Server);
