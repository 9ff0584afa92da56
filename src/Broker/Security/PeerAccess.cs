using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>What one peer may do, remembered for topics until users, tokens or rules change.</summary>
/// <remarks>
/// <para>Thread-safe. Without rules it costs two reads; with rules a look-up for each batch or queue.</para>
/// <para>The one place that decides for a peer, so the one that counts and writes down. Permit and Check are for what
/// the peer asks to be done: a no is a refusal, whatever shape the answer has. May is for what is shown: a list leaves
/// out what it must not show, and refuses nothing.</para>
/// </remarks>
internal sealed class PeerAccess(SecurityTable table, AuditLog audit, ClientIdentity client)
{
    /// <summary>A connection that uses more topics than that asks again.</summary>
    private const int MostRemembered = 256;

    private static readonly Remembered Nothing = new(SecurityBook.Empty);

    private readonly bool _isUnbound = table.IsUnbound(client.Principal);
    private volatile Remembered _remembered = Nothing;
    private OwnProducer? _producer;

    public string Principal => client.Principal;

    /// <summary>Of a connection whose handshake is done.</summary>
    public static PeerAccess Of(BrokerConnection peer) => peer.FindFeature<PeerAccess>()!;

    /// <summary>Whether a batch may be stored.</summary>
    public bool PermitWrite(Topic topic) =>
        _isUnbound || table.Book.Rules.IsEmpty || Ask(topic.Name, Permission.Write)
        || Refuse(Opcode.Produce, Permission.Write, ResourceKind.Topic, topic.Name);

    /// <summary>Where the id of a new producer of the peer's comes from; null = ids are anybody's.</summary>
    public Func<long>? ProducerIds => table.ProducerKey is { } key ? () => ProducerNames.New(key, Principal) : null;

    /// <summary>Whether a producer's id was given to the peer's principal.</summary>
    public bool OwnsProducer(long id)
    {
        if (table.ProducerKey is not { } key)
            return true;
        // A connection has one producer, mostly.
        if (_producer is { } known && known.Key == key && known.Id == id)
            return true;
        if (!ProducerNames.IsOf(key, Principal, id))
            return false;
        _producer = new OwnProducer(key, id);
        return true;
    }

    /// <summary>Whether a queue may be read that is asked for.</summary>
    public bool PermitRead(Topic topic) =>
        MayRead(topic) || Refuse(Opcode.Fetch, Permission.Read, ResourceKind.Topic, topic.Name);

    /// <summary>Whether one of several things may be done that an operation is asked to do.</summary>
    public bool Permit(Opcode operation, Permission permission, ResourceKind resource, string name) =>
        May(permission, resource, name) || Refuse(operation, permission, resource, name);

    /// <summary>Throws unless an operation may be done.</summary>
    /// <param name="operation">Which one.</param>
    /// <param name="permission">The right that it needs.</param>
    /// <param name="resource">To what kind of thing.</param>
    /// <param name="name">Its name.</param>
    /// <param name="subject">What is written down of what it is about; null = the thing itself.</param>
    /// <exception cref="EQueueException">NotAuthorized.</exception>
    public void Check(
        Opcode operation, Permission permission, ResourceKind resource, string name, string? subject = null)
    {
        if (May(permission, resource, name))
            return;
        Refuse(operation, permission, resource, name, subject);
        throw SecurityTable.Refusal(Principal, permission, resource, name);
    }

    /// <summary>Writes down that an operation that is none of administration has made a topic.</summary>
    public void NoteMade(Opcode operation, Topic topic) => audit.Done(
        client, operation, AccessRule.TextOf(ResourceKind.Topic, topic.Name),
        $"before: -; after: {topic.Record.Settings}");

    /// <summary>Whether a queue would be read; nothing is refused.</summary>
    public bool MayRead(Topic topic) => _isUnbound || table.Book.Rules.IsEmpty || Ask(topic.Name, Permission.Read);

    /// <summary>Whether something may be shown; nothing is refused.</summary>
    public bool May(Permission permission, ResourceKind resource, string name) =>
        _isUnbound || table.May(Principal, permission, resource, name);

    /// <returns>False.</returns>
    private bool Refuse(
        Opcode operation, Permission permission, ResourceKind resource, string name, string? subject = null)
    {
        audit.Unauthorized(client, operation, permission, resource, name, subject);
        return false;
    }

    private bool Ask(string topic, Permission permission)
    {
        SecurityBook book = table.Book;
        Remembered remembered = _remembered;
        if (remembered.Book != book)
            _remembered = remembered = new Remembered(book);
        (string, Permission) key = (topic, permission);
        if (remembered.Verdicts.TryGetValue(key, out bool isAllowed))
            return isAllowed;
        if (remembered.Verdicts.Count >= MostRemembered)
            remembered.Verdicts.Clear();
        return remembered.Verdicts[key] = book.Decide(Principal, permission, ResourceKind.Topic, topic).IsAllowed;
    }

    private sealed record OwnProducer(byte[] Key, long Id);

    private sealed record Remembered(SecurityBook Book)
    {
        public ConcurrentDictionary<(string Topic, Permission Permission), bool> Verdicts { get; } = new();
    }
}
