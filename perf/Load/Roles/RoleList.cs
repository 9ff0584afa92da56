using EQueue.Load.Limit;

namespace EQueue.Load.Roles;

/// <summary>The roles by name.</summary>
internal static class RoleList
{
    public const string LimitProducer = "limit-producer";
    public const string LimitBroker = "limit-broker";
    public const string LimitConsumer = "limit-consumer";

    public static IRole? Create(string name) => name switch
    {
        LimitProducer => new LimitProducerRole(),
        LimitBroker => new LimitBrokerRole(),
        LimitConsumer => new LimitConsumerRole(),
        _ => null,
    };
}
