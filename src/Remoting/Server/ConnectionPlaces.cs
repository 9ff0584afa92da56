using System.Net;

namespace EQueue.Remoting;

/// <summary>Who may connect. Thread-safe.</summary>
/// <remarks>Some places are for peers on this machine alone. An address elsewhere has at most as many places as it
/// leaves free to others: alone it may have half of them, and no number of its connections keeps another address
/// out.</remarks>
/// <param name="max">All places.</param>
/// <param name="keptForLocal">Of them for peers on this machine alone; at most a quarter counts.</param>
/// <param name="maxPerAddress">Of one address, also on this machine; 0 = as many as are free.</param>
internal sealed class ConnectionPlaces(int max, int keptForLocal, int maxPerAddress)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<IPAddress, PeerShare> _shares = [];
    private readonly PeerShare _withoutAddress = new(null);
    private readonly int _kept = Math.Min(keptForLocal, max / 4);
    private int _count;

    /// <summary>Why there is no place.</summary>
    public enum Refusal
    {
        /// <summary>There is one.</summary>
        None,

        /// <summary>All are taken.</summary>
        Full,

        /// <summary>The address has as many as it may have.</summary>
        Address,
    }

    /// <summary>Takes a place.</summary>
    /// <param name="peer">For whom.</param>
    /// <param name="share">Its address's, when there is a place; at <see cref="Refusal.Address"/> too.</param>
    public Refusal TryTake(EndPoint peer, out PeerShare? share)
    {
        IPAddress? address = PeerHost.AddressOf(peer);
        lock (_lock)
        {
            share = _withoutAddress;
            if (address is not null && !_shares.TryGetValue(address, out share))
                share = new PeerShare(address);
            int free = max - _count - (share.IsLocal ? 0 : _kept);
            if (maxPerAddress > 0 && address is not null && share.Connections >= maxPerAddress)
                return Refusal.Address;
            if (free <= 0)
            {
                share = null;
                return Refusal.Full;
            }

            bool isFair = share.IsLocal || maxPerAddress > 0 || share.Connections == 0 || share.Connections < free;
            if (!isFair)
                return Refusal.Address;
            _count++;
            share.Connections++;
            if (address is not null)
                _shares[address] = share;
            return Refusal.None;
        }
    }

    /// <summary>Gives a place back.</summary>
    public void Give(PeerShare share)
    {
        lock (_lock)
        {
            _count--;
            if (--share.Connections == 0 && share.Address is not null)
                _shares.Remove(share.Address);
        }
    }
}
