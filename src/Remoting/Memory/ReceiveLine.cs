namespace EQueue.Remoting;

/// <summary>Frames of one kind, small or large, that wait for receive memory. Addresses take turns; within an address
/// the first come is the first served.</summary>
/// <remarks>Under the lock of the <see cref="ReceiveBudget"/>.</remarks>
/// <param name="isSmall">Whose frames.</param>
internal sealed class ReceiveLine(bool isSmall)
{
    private readonly LinkedList<PeerShare> _turns = [];

    /// <summary>Frames that wait.</summary>
    public int Count { get; private set; }

    /// <summary>What they wait for.</summary>
    public long WaitingBytes { get; private set; }

    /// <summary>Memory of frames of this kind.</summary>
    public long UsedBytes { get; set; }

    /// <summary>Whether one of them went beyond the bound.</summary>
    public bool IsBeyond { get; set; }

    /// <summary>Joins the line.</summary>
    public void Add(Waiter waiter)
    {
        Queue queue = QueueOf(waiter.Share);
        queue.Waiters.AddLast(waiter.Place);
        if (queue.Turn(waiter.Share) is { List: null } turn)
            _turns.AddLast(turn);
        Count++;
        WaitingBytes += waiter.Bytes;
    }

    /// <summary>Leaves the line, served or not.</summary>
    /// <returns>False when it has left before.</returns>
    public bool Remove(Waiter waiter)
    {
        Queue queue = QueueOf(waiter.Share);
        if (waiter.Place.List != queue.Waiters)
            return false;
        queue.Waiters.Remove(waiter.Place);
        Count--;
        WaitingBytes -= waiter.Bytes;
        if (queue.Waiters.Count == 0)
            _turns.Remove(queue.Turn(waiter.Share));
        return true;
    }

    /// <summary>Puts an address behind the others: it was served.</summary>
    public void EndTurn(PeerShare share)
    {
        LinkedListNode<PeerShare> turn = QueueOf(share).Turn(share);
        if (turn.List is null)
            return;
        _turns.Remove(turn);
        _turns.AddLast(turn);
    }

    /// <summary>Who comes next: the first of the first address that may have more.</summary>
    /// <param name="mayHave">Whether an address may have so many bytes more.</param>
    public Waiter? Next(Func<PeerShare, int, bool> mayHave)
    {
        for (LinkedListNode<PeerShare>? turn = _turns.First; turn is not null; turn = turn.Next)
        {
            Waiter first = QueueOf(turn.Value).Waiters.First!.Value;
            if (mayHave(turn.Value, first.Bytes))
                return first;
        }

        return null;
    }

    /// <summary>When the one came who waits the longest; <see cref="long.MaxValue"/> when no caller waits.</summary>
    public long OldestSince()
    {
        long oldest = long.MaxValue;
        foreach (PeerShare share in _turns)
            oldest = Math.Min(oldest, QueueOf(share).Waiters.First!.Value.Since);
        return oldest;
    }

    private Queue QueueOf(PeerShare share) => isSmall ? share.SmallLine : share.LargeLine;

    /// <summary>The part of a line that is one address's.</summary>
    public sealed class Queue
    {
        private LinkedListNode<PeerShare>? _turn;

        /// <summary>In the order in which they came.</summary>
        public LinkedList<Waiter> Waiters { get; } = [];

        /// <summary>Its place among the addresses, in no list while none waits.</summary>
        public LinkedListNode<PeerShare> Turn(PeerShare share) => _turn ??= new LinkedListNode<PeerShare>(share);
    }

    /// <summary>A frame that waits.</summary>
    public sealed class Waiter
    {
        public Waiter(PeerShare share, int bytes, long since)
        {
            (Share, Bytes, Since) = (share, bytes, since);
            Place = new LinkedListNode<Waiter>(this);
        }

        public PeerShare Share { get; }

        public int Bytes { get; }

        /// <summary>When it came, a timestamp.</summary>
        public long Since { get; }

        public LinkedListNode<Waiter> Place { get; }

        /// <summary>Whether it goes beyond the bound.</summary>
        public TaskCompletionSource<bool> Granted { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
