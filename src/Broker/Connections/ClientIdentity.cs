namespace EQueue.Broker;

/// <summary>Who is at the other end of a connection, from its Hello: what the broker keeps of it. Credentials are
/// looked at and dropped.</summary>
/// <remarks>Mechanisms that prove who it is add what they found here.</remarks>
/// <param name="Name">What people call the client.</param>
internal sealed record ClientIdentity(string Name);
