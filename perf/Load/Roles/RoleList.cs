using EQueue.Load.Clusters;
using EQueue.Load.Limit;
using EQueue.Load.Scenarios;
using EQueue.Load.Sockets;

namespace EQueue.Load.Roles;

/// <summary>The roles by name.</summary>
internal static class RoleList
{
    public const string Broker = "broker";
    public const string Producer = "producer";
    public const string Consumer = "consumer";
    public const string SocketServer = "socket-server";
    public const string SocketClient = "socket-client";
    public const string RemotingServer = "remoting-server";
    public const string RemotingClient = "remoting-client";
    public const string LimitProducer = "limit-producer";
    public const string LimitBroker = "limit-broker";
    public const string LimitConsumer = "limit-consumer";
    public const string Store = "store";
    public const string Server = "server";
    public const string Fill = "fill";
    public const string Replay = "replay";
    public const string Packing = "packing";
    public const string Filter = "filter";
    public const string Watch = "watch";
    public const string Members = "members";
    public const string Idle = "idle";
    public const string Forward = "forward";
    public const string Asker = "asker";
    public const string Etcd = "etcd";

    public static IRole? Create(string name) => name switch
    {
        Broker => new BrokerRole(),
        Producer => new ProducerRole(),
        Consumer => new ConsumerRole(),
        SocketServer => new SocketServerRole(),
        SocketClient => new SocketClientRole(),
        RemotingServer => new RemotingServerRole(),
        RemotingClient => new RemotingClientRole(),
        LimitProducer => new LimitProducerRole(),
        LimitBroker => new LimitBrokerRole(),
        LimitConsumer => new LimitConsumerRole(),
        Store => new StoreRole(),
        Server => new ServerRole(),
        Fill => new FillRole(),
        Replay => new ReplayRole(),
        Packing => new PackingRole(),
        Filter => new FilterRole(),
        Watch => new WatchRole(),
        Members => new MembersRole(),
        Idle => new IdleRole(),
        Forward => new ForwardRole(),
        Asker => new AskerRole(),
        Etcd => new EtcdRole(),
        _ => null,
    };
}
