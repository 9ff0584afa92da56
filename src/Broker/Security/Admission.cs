using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A peer that the broker admitted by another way than a connection, such as HTTP, for one request.</summary>
/// <remarks>Thread-safe. Dispose it when the request is over: until then the broker looks every second whether it still
/// holds, as it does for connections.</remarks>
public sealed class Admission : IDisposable
{
    private readonly Credential _credential;
    private readonly PeerAccess _access;
    private readonly PeerWatch _watch;
    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _ended = new();

    /// <summary>What was checked, and has to stay allowed.</summary>
    private readonly List<(Permission Permission, ResourceKind Resource, string Name)> _needs = [];
    private EQueueException? _reason;
    private bool _isOver;

    internal Admission(Credential credential, PeerAccess access, PeerWatch watch)
    {
        _credential = credential;
        _access = access;
        _watch = watch;
        Ended = _ended.Token;
        watch.Add(this);
    }

    /// <summary>Who it is, as rules name it.</summary>
    public string Principal => _credential.Principal;

    /// <summary>Whether it was admitted by something that can end.</summary>
    internal bool CanEnd => _credential.CanEnd;

    /// <summary>Cancelled, within two seconds, when the token has ended, the user is disabled or gone, or what was
    /// checked is not allowed any more.</summary>
    public CancellationToken Ended { get; }

    /// <summary>Why it has ended; null = it has not.</summary>
    public EQueueException? Reason
    {
        get
        {
            lock (_gate)
                return _reason;
        }
    }

    /// <summary>Throws unless something may be done, now and until the request is over. A refusal is counted and
    /// written to the audit log.</summary>
    /// <param name="operation">For which operation, as the audit log names it.</param>
    /// <param name="permission">The right.</param>
    /// <param name="resource">To what kind of thing.</param>
    /// <param name="name">Its name; "" = the broker.</param>
    /// <exception cref="EQueueException">NotAuthorized.</exception>
    public void Check(Opcode operation, Permission permission, ResourceKind resource, string name)
    {
        _access.Check(operation, permission, resource, name);
        lock (_gate)
            _needs.Add((permission, resource, name));
    }

    /// <summary>Whether something may be shown; nothing is refused.</summary>
    public bool MaySee(ResourceKind resource, string name) => _access.May(Permission.Describe, resource, name);

    /// <summary>The request is over: nothing looks at it any more.</summary>
    public void Dispose()
    {
        _watch.Remove(this);
        lock (_gate)
        {
            // One that ends at this moment still runs what waits for it.
            if (!_isOver && _reason is null)
                _ended.Dispose();
            _isOver = true;
        }
    }

    /// <summary>Ends it when it does not hold any more.</summary>
    internal async Task LookAsync(SecurityBook book, long nowMs)
    {
        lock (_gate)
        {
            if (_isOver || _reason is not null || FindEnd(book, nowMs) is not { } reason)
                return;
            _reason = reason;
        }

        _watch.Remove(this);
        await _ended.CancelAsync();
    }

    private EQueueException? FindEnd(SecurityBook book, long nowMs)
    {
        if (!_credential.Holds(book, nowMs))
            return PeerWatch.NoMore();
        foreach ((Permission permission, ResourceKind resource, string name) in _needs)
        {
            if (!_access.May(permission, resource, name))
                return SecurityTable.Refusal(Principal, permission, resource, name);
        }

        return null;
    }
}
