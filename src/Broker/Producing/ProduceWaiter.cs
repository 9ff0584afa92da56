using System.Runtime.InteropServices;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>One produce request under way: what its batches are, what became of them, and whom to answer.</summary>
/// <remarks>
/// Pooled. Filled on the receive loop; from the moment the store has accepted it, it belongs to the thread that calls
/// <see cref="OnCompleted"/>, which answers and gives it back: one of the store, or the receive loop's while it
/// appends.
/// </remarks>
internal sealed class ProduceWaiter(ProduceWaiterPool pool) : AppendWaiter, IBatchOutcome
{
    private const int MaxPooledBatches = 1_024;
    private const int RetryAfterMs = 1_000;
    private const int RetryFullAfterMs = 100;

    private readonly HashSet<TopicBacklog> _waitsFor = [];
    private Slot[] _slots = new Slot[4];
    private AppendItem[] _items = new AppendItem[4];
    private int _slotCount;
    private int _itemCount;

    // The store's one, and one for each batch that waits in a line.
    private int _parts;
    private int _waitingCount;
    private bool _tookRoom;
    private BrokerConnection? _peer;
    private FrameHeader _request;
    private int _loopThread;
    private Durability _level;

    // When the answer may leave, by the clock of the one that holds it; 0 = at once.
    private long _heldUntil;
    private Throttle? _throttle;

    /// <summary>The batches that the store is to append.</summary>
    public Span<AppendItem> Items => _items.AsSpan(0, _itemCount);

    /// <inheritdoc/>
    public BrokerConnection Peer => _peer!;

    public bool IsPoolable => _slots.Length <= MaxPooledBatches;

    public void Begin(BrokerConnection peer, in FrameHeader request, Durability level, int batchCount)
    {
        _peer = peer;
        _request = request;
        _loopThread = Environment.CurrentManagedThreadId;
        _level = level;
        _slotCount = 0;
        _itemCount = 0;
        _parts = 1;
        _waitingCount = 0;
        _tookRoom = false;
        _heldUntil = 0;
        if (_slots.Length < batchCount)
        {
            _slots = new Slot[batchCount];
            _items = new AppendItem[batchCount];
        }
    }

    /// <summary>The answer leaves when the debt is paid, or the longest wait is over.</summary>
    public void HoldFor(TimeSpan debt, Throttle throttle)
    {
        _heldUntil = throttle.HoldUntil(debt);
        _throttle = throttle;
    }

    /// <summary>Adds a batch for the store.</summary>
    /// <param name="header">Of the request.</param>
    /// <param name="batch">Lent until the store has copied it.</param>
    /// <param name="messages">In the batch.</param>
    /// <param name="backlog">Where room is taken for it; null = nowhere.</param>
    /// <param name="ticket">The room.</param>
    public void AddBatch(
        in ProduceBatchHeader header,
        ReadOnlyMemory<byte> batch,
        int messages,
        TopicBacklog? backlog = null,
        BacklogTicket ticket = default)
    {
        _tookRoom |= backlog is not null;
        _items[_itemCount] = ToItem(header, batch);
        _slots[_slotCount++] = new Slot(ErrorCode.None, _itemCount++, messages, backlog, ticket);
    }

    /// <summary>Whether a batch of it waits for room in a backlog.</summary>
    public bool WaitsFor(TopicBacklog backlog) => _waitsFor.Contains(backlog);

    public void AddRefused(ErrorCode error) => _slots[_slotCount++] = new Slot(error, -1, 0, null, default);

    /// <summary>Adds a batch that waits for room; the request is not answered before it is settled.</summary>
    public WaitingBatch AddWaiting(
        BacklogTable table,
        TopicBacklog backlog,
        in ProduceBatchHeader header,
        ReadOnlyMemory<byte> batch,
        int messages,
        in BacklogTicket ticket)
    {
        Interlocked.Increment(ref _parts);
        _waitsFor.Add(backlog);
        int slot = _slotCount++;
        int waiting = _items.Length - 1 - _waitingCount++;
        _slots[slot] = new Slot(ErrorCode.None, waiting, messages, null, default);
        return new WaitingBatch(table, backlog, this, waiting, ToItem(header, batch), ticket, _level);
    }

    /// <inheritdoc/>
    public void SettleWaiting(int place, AppendItem item)
    {
        _items[place] = item;
        EndPart(isOnReceiveLoop: false);
    }

    /// <summary>Answers a request of which nothing was appended.</summary>
    /// <param name="error">For the batches that the store did not judge; None: each has the store's own.</param>
    /// <param name="isOnReceiveLoop">Whether the caller is the connection's receive loop.</param>
    public void CompleteUnstored(ErrorCode error, bool isOnReceiveLoop)
    {
        if (error != ErrorCode.None)
        {
            foreach (ref AppendItem item in Items)
                item.Error = error;
        }

        SettleRoom();
        EndPart(isOnReceiveLoop);
    }

    /// <summary>Gives up a request without a waiter and of which nothing was appended.</summary>
    public void Abandon() => CompleteUnstored(ErrorCode.ShuttingDown, isOnReceiveLoop: false);

    /// <inheritdoc/>
    protected override void OnCompleted(Exception? fault)
    {
        if (fault is not null)
        {
            foreach (ref AppendItem item in Items)
            {
                if (item.Error is ErrorCode.None or ErrorCode.DuplicateSequence)
                    item.Error = ErrorCode.StoreFaulted;
            }
        }

        SettleRoom();
        EndPart(isOnReceiveLoop: Environment.CurrentManagedThreadId == _loopThread);
    }

    private static AppendItem ToItem(in ProduceBatchHeader header, ReadOnlyMemory<byte> batch) =>
        new() { Queue = header.Queue, Batch = batch, TagBits = header.TagBits };

    /// <summary>Says what became of the batches for which room was taken, whatever the request still waits
    /// for.</summary>
    private void SettleRoom()
    {
        if (!_tookRoom)
            return;
        foreach (ref readonly Slot slot in _slots.AsSpan(0, _slotCount))
        {
            if (slot.Backlog is not { } backlog)
                continue;
            ref AppendItem item = ref _items[slot.Item];
            backlog.Settle(
                slot.Ticket, item.Error == ErrorCode.None ? item.FirstOffset.Value + slot.Messages : -1);
        }
    }

    /// <summary>One part is settled; the last one answers.</summary>
    private void EndPart(bool isOnReceiveLoop)
    {
        if (Volatile.Read(ref _parts) == 1 || Interlocked.Decrement(ref _parts) == 0)
            Complete(isOnReceiveLoop);
    }

    private void Complete(bool isOnReceiveLoop)
    {
        BrokerConnection peer = _peer!;
        FrameHeader request = _request;
        Count();
        Throttle? throttle = _throttle;
        TimeSpan hold = throttle?.LeftOf(_heldUntil) ?? TimeSpan.Zero;
        FrameBuffer? answer = null;
        if (!request.IsOneway)
        {
            int size = ProduceResponse.SizeOf(_slotCount);
            answer = FrameBuffer.Rent(size);
            Write(answer.Reserve(size), hold);
        }

        Release();
        if (answer is not null && hold > TimeSpan.Zero)
        {
            throttle!.Hold(peer, request, answer, hold);
            return;
        }

        if (answer is not null)
            peer.Answer(request, answer, isOnReceiveLoop);
        peer.EndRequest();
    }

    private void Write(Span<byte> target, TimeSpan hold)
    {
        ProduceResponse.WriteHeader(target, (int)hold.TotalMilliseconds, _slotCount);
        target = target[ProduceResponse.HeaderSize..];
        foreach (ref readonly Slot slot in _slots.AsSpan(0, _slotCount))
        {
            if (slot.Item < 0)
            {
                Failed(slot.Error).Write(target);
            }
            else
            {
                ref AppendItem item = ref _items[slot.Item];
                ProduceResult result = item.Error is ErrorCode.None or ErrorCode.DuplicateSequence
                    ? new ProduceResult(item.Error, _level, item.Epoch, item.FirstOffset, item.StoredTimeMs, 0)
                    : Failed(item.Error);
                result.Write(target);
            }

            target = target[ProduceResult.Size..];
        }
    }

    private static ProduceResult Failed(ErrorCode error) => new(
        error,
        Durability.Policy,
        -1,
        new QueueOffset(-1),
        0,
        error switch
        {
            ErrorCode.StorageFull or ErrorCode.StoreFaulted => RetryAfterMs,
            ErrorCode.QueueFull => RetryFullAfterMs,
            _ => 0,
        });

    private void Count()
    {
        int messages = 0;
        int refused = 0;
        foreach (ref readonly Slot slot in _slots.AsSpan(0, _slotCount))
        {
            ErrorCode error = slot.Item < 0 ? slot.Error : _items[slot.Item].Error;
            if (error == ErrorCode.None)
                messages += slot.Messages;
            else if (error != ErrorCode.DuplicateSequence)
                refused++;
        }

        Interlocked.Add(ref pool.Counters.AppendedMessages, messages);
        if (refused != 0)
            Interlocked.Add(ref pool.Counters.RefusedBatches, refused);
    }

    private void Release()
    {
        Items.Clear();
        if (_waitingCount > 0)
        {
            _items.AsSpan(_items.Length - _waitingCount).Clear();
            _waitsFor.Clear();
        }

        _peer = null;
        pool.Return(this);
    }

    [StructLayout(LayoutKind.Auto)]
    private readonly record struct Slot(
        ErrorCode Error, int Item, int Messages, TopicBacklog? Backlog, BacklogTicket Ticket);
}
