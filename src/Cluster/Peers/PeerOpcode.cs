namespace EQueue.Cluster;

/// <summary>What nodes of a cluster say to each other on the port that clients use. Numbers are on the wire: never
/// changed, never reused, and none of a client's operations has one of 80 to 95.</summary>
internal enum PeerOpcode : byte
{
    /// <summary>The first frame of a node's connection: who it is, and a number that the other one signs.</summary>
    Hello = 80,

    /// <summary>The second: the other one's number signed.</summary>
    Prove = 81,

    /// <summary>A message of the rules, one way; it may be lost.</summary>
    Message = 82,

    /// <summary>Asks for the names of the files that a new replica copies.</summary>
    ListFiles = 83,

    /// <summary>Asks for a part of one of them.</summary>
    ReadFile = 84,
}
