using EQueue.Cluster.Etcd;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>What one life of a replica works with.</summary>
/// <param name="Node">This node's name.</param>
/// <param name="Address">Where others reach it.</param>
/// <param name="Life">The life that begins.</param>
/// <param name="Rules">Times and numbers of the shard.</param>
/// <param name="Files">Where the shard's directory is.</param>
/// <param name="Room">Whether that volume is full.</param>
/// <param name="FlushInterval">How often an asynchronous log is synced.</param>
/// <param name="Etcd">The shard's keys.</param>
/// <param name="Links">The other nodes.</param>
/// <param name="Listener">The node's port.</param>
/// <param name="Door">Where clients come in.</param>
/// <param name="Board">Tells clients who leads.</param>
/// <param name="Engines">Makes what runs while this node leads.</param>
/// <param name="Logger">For what operators should know.</param>
/// <param name="Time">For the pace of notes.</param>
/// <param name="NodeKeyInterval">How often the node puts its key into etcd.</param>
/// <param name="Counters">What is counted.</param>
internal sealed record ReplicaSetup(
    string Node,
    string Address,
    Life Life,
    ReplicaOptions Rules,
    ReplicaFilesOptions Files,
    RoomWatch Room,
    TimeSpan FlushInterval,
    EtcdShard Etcd,
    PeerLinks Links,
    RemotingServer Listener,
    EngineDoor Door,
    LeaderBoard Board,
    IEngineFactory Engines,
    ILogger Logger,
    TimeProvider Time,
    TimeSpan NodeKeyInterval,
    NodeCounters Counters);

/// <summary>Why a life ended by itself.</summary>
/// <param name="Reason">What becomes of the directory.</param>
/// <param name="Why">In words.</param>
internal sealed record ReplicaEnd(StopReason Reason, string Why);
