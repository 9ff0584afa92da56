using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>What one connection may do with topics, remembered until users, tokens or rules change.</summary>
/// <remarks>Thread-safe. Without rules it costs two reads; with rules a look-up for each batch or queue.</remarks>
internal sealed class PeerAccess(SecurityTable table, string principal)
{
    /// <summary>A connection that uses more topics than that asks again.</summary>
    private const int MostRemembered = 256;

    private readonly bool _isUnbound = table.IsUnbound(principal);
    private volatile Remembered _remembered = new(SecurityBook.Empty);

    public string Principal => principal;

    public bool MayWrite(Topic topic) => _isUnbound || table.Book.Rules.IsEmpty || Ask(topic.Name, Permission.Write);

    public bool MayRead(Topic topic) => _isUnbound || table.Book.Rules.IsEmpty || Ask(topic.Name, Permission.Read);

    /// <summary>Whether it may be done with something.</summary>
    public bool May(Permission permission, ResourceKind resource, string name) =>
        _isUnbound || table.May(principal, permission, resource, name);

    /// <exception cref="EQueueException">NotAuthorized.</exception>
    public void Check(Permission permission, ResourceKind resource, string name)
    {
        if (!May(permission, resource, name))
            throw SecurityTable.Refusal(principal, permission, resource, name);
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
        return remembered.Verdicts[key] = book.Decide(principal, permission, ResourceKind.Topic, topic).IsAllowed;
    }

    private sealed record Remembered(SecurityBook Book)
    {
        public ConcurrentDictionary<(string Topic, Permission Permission), bool> Verdicts { get; } = new();
    }
}
