namespace EQueue.Broker;

/// <summary>Who is at the other end of a connection, from its Hello: what the broker keeps of it. Credentials are
/// looked at and dropped.</summary>
/// <param name="Name">What people call the client.</param>
/// <param name="Principal">Who it proved to be.</param>
/// <param name="Address">From where, as it is written down; of a link that carries another's requests, such as those
/// over HTTP, from where that other asks.</param>
internal sealed record ClientIdentity(string Name, string Principal, string Address)
{
    /// <summary>Under which name its quota is: what it proved, else what it says of itself.</summary>
    public string QuotaName { get; } =
        Principal is EQueue.Broker.Principal.Owner or EQueue.Broker.Principal.Anonymous ? Name : Principal;
}
