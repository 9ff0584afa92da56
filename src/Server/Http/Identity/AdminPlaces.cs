using System.Net;
using EQueue.Remoting;
using Microsoft.AspNetCore.Connections;

namespace EQueue.Server.Http;

/// <summary>The connections of the admin port: so many at once, and each new one gets a place.</summary>
/// <remarks>
/// Thread-safe. When all places are taken, the connection that has asked for nothing for the longest goes, of the
/// address that has the most; so silent or slow peers, however many, never keep a probe out. Requests that are counted
/// hold their places; they are fewer than the places.
/// </remarks>
/// <param name="most">More than requests are counted at once.</param>
internal sealed class AdminPlaces(int most)
{
    private readonly LinkedList<AdminPlace> _places = [];

    /// <summary>Guards the places and what they say of themselves.</summary>
    public Lock Gate { get; } = new();

    /// <summary>Connections that are open now.</summary>
    public int Count
    {
        get
        {
            lock (Gate)
                return _places.Count;
        }
    }

    /// <summary>Runs a connection in a place of its own, which is a feature of it.</summary>
    public async Task RunAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        var place = new AdminPlace(this, connection);
        AdminPlace? leaving;
        lock (Gate)
        {
            leaving = _places.Count >= most ? FindLeaving() : null;
            if (leaving is not null)
                _places.Remove(leaving.Node);
            _places.AddLast(place.Node);
        }

        leaving?.Connection.Abort(new ConnectionAbortedException("Another connection takes this silent one's place."));
        connection.Features.Set(place);
        try
        {
            await next(connection);
        }
        finally
        {
            lock (Gate)
            {
                if (place.Node.List is not null)
                    _places.Remove(place.Node);
            }

            await place.Client.DisposeAsync();
        }
    }

    /// <summary>Answers a request; its connection goes last from now on, and again from when it was answered.</summary>
    public async Task RunRequestAsync(HttpContext context, RequestDelegate next)
    {
        AdminPlace? place = context.Features.Get<AdminPlace>();
        MoveLast(place);
        await next(context);
        MoveLast(place);
    }

    private void MoveLast(AdminPlace? place)
    {
        if (place is null)
            return;
        lock (Gate)
        {
            if (place.Node.List is null)
                return;
            _places.Remove(place.Node);
            _places.AddLast(place.Node);
        }
    }

    /// <summary>The first one that is not held, of the address that has the most.</summary>
    private AdminPlace? FindLeaving() => _places
        .Where(static place => !place.IsHeld)
        .GroupBy(static place => place.Address)
        .MaxBy(static places => places.Count())?
        .First();
}

/// <summary>The place of one connection.</summary>
internal sealed class AdminPlace
{
    private readonly AdminPlaces _owner;
    private HttpPeer? _peer;
    private bool _isHeld;

    public AdminPlace(AdminPlaces owner, ConnectionContext connection)
    {
        _owner = owner;
        Connection = connection;
        Address = (connection.RemoteEndPoint as IPEndPoint)?.Address ?? IPAddress.None;
        Node = new LinkedListNode<AdminPlace>(this);
    }

    public ConnectionContext Connection { get; }

    public IPAddress Address { get; }

    public LinkedListNode<AdminPlace> Node { get; }

    /// <summary>Of its requests; it ends with the connection.</summary>
    public KeptClient Client { get; } = new();

    /// <summary>The place of a request's connection.</summary>
    public static AdminPlace Of(HttpContext context) => context.Features.Get<AdminPlace>()
        ?? throw new InvalidOperationException("The connection has no place.");

    /// <summary>The other end. For one request at a time; a user that is not known is asked for again.</summary>
    public HttpPeer Peer
    {
        get
        {
            if (_peer is null or { Place: PeerPlace.Loopback, User: null })
                _peer = HttpPeer.Of(Connection);
            return _peer;
        }
    }

    /// <summary>Whether a counted request is under way, so that the connection is not to be closed.</summary>
    public bool IsHeld
    {
        get => _isHeld;
        set
        {
            lock (_owner.Gate)
                _isHeld = value;
        }
    }
}
