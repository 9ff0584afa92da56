using System.Net;
using Microsoft.AspNetCore.Connections;

namespace EQueue.Server.Http;

/// <summary>The connections of the admin port: so many at once, and one that waits for its next request gives its place
/// to one that comes.</summary>
/// <remarks>
/// Thread-safe. A connection is idle while no request of it is being answered. When all places are taken, the oldest idle
/// one of the address that has the most goes, so silent peers, however many, never keep a probe out; a new connection is
/// closed only when requests are being answered on all places.
/// </remarks>
internal sealed class AdminPlaces(int most)
{
    private readonly Lock _gate = new();
    private readonly LinkedList<Place> _places = [];

    /// <summary>Connections that are open now.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
                return _places.Count;
        }
    }

    /// <summary>Runs a connection in a place of its own.</summary>
    public async Task RunAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        var place = new Place(connection);
        if (!TryTake(place, out Place? leaving))
        {
            connection.Abort(new ConnectionAbortedException("Requests are being answered on all places."));
            return;
        }

        leaving?.Connection.Abort(new ConnectionAbortedException("Another connection takes the place of an idle one."));
        connection.Features.Set(place);
        try
        {
            await next(connection);
        }
        finally
        {
            lock (_gate)
                Remove(place);
        }
    }

    /// <summary>Answers a request of a connection, which is not idle meanwhile.</summary>
    public async Task RunRequestAsync(HttpContext context, RequestDelegate next)
    {
        Place? place = context.Features.Get<Place>();
        Set(place, isBusy: true);
        try
        {
            await next(context);
        }
        finally
        {
            Set(place, isBusy: false);
        }
    }

    private void Set(Place? place, bool isBusy)
    {
        if (place is null)
            return;
        lock (_gate)
        {
            place.IsBusy = isBusy;
            if (isBusy || place.Node.List is null)
                return;
            // The one that was idle the longest stands first.
            _places.Remove(place.Node);
            _places.AddLast(place.Node);
        }
    }

    private bool TryTake(Place place, out Place? leaving)
    {
        lock (_gate)
        {
            leaving = _places.Count >= most ? FindIdle() : null;
            if (leaving is not null)
                Remove(leaving);
            else if (_places.Count >= most)
                return false;
            _places.AddLast(place.Node);
            return true;
        }
    }

    /// <summary>The oldest idle one of the address that has the most places.</summary>
    private Place? FindIdle() => _places
        .GroupBy(static place => place.Address)
        .Select(static one => (Count: one.Count(), Idle: one.FirstOrDefault(static place => !place.IsBusy)))
        .Where(static one => one.Idle is not null)
        .MaxBy(static one => one.Count)
        .Idle;

    private void Remove(Place place)
    {
        if (place.Node.List is not null)
            _places.Remove(place.Node);
    }

    /// <summary>One connection, as a feature of it.</summary>
    private sealed class Place
    {
        public Place(ConnectionContext connection)
        {
            Connection = connection;
            Address = (connection.RemoteEndPoint as IPEndPoint)?.Address ?? IPAddress.None;
            Node = new LinkedListNode<Place>(this);
        }

        public ConnectionContext Connection { get; }

        public IPAddress Address { get; }

        public LinkedListNode<Place> Node { get; }

        public bool IsBusy { get; set; }
    }
}
