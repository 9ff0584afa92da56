using System.Buffers;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>A batch that waits in the line of its topic, a copy of its bytes with it, and then for the store.</summary>
/// <remarks>
/// The thread that takes it out of the line settles it, once: let in, refused, or dropped with its connection.
/// </remarks>
internal sealed class WaitingBatch : AppendWaiter, IDeadline
{
    private const int LongestPooledBytes = 64 << 10;

    private readonly BacklogTable _table;
    private readonly TopicBacklog _backlog;
    private readonly IBatchOutcome _owner;
    private readonly int _slot;
    private readonly Durability _level;
    private readonly byte[] _bytes;
    private readonly AppendItem[] _items = new AppendItem[1];

    /// <param name="table">Where it is parked.</param>
    /// <param name="backlog">In whose line it will stand.</param>
    /// <param name="owner">The request that it is part of; told when it is settled.</param>
    /// <param name="slot">Its place in the request.</param>
    /// <param name="item">Its bytes are copied.</param>
    /// <param name="ticket">The room that it needs.</param>
    /// <param name="level">When it is acknowledged.</param>
    public WaitingBatch(
        BacklogTable table,
        TopicBacklog backlog,
        IBatchOutcome owner,
        int slot,
        AppendItem item,
        in BacklogTicket ticket,
        Durability level)
    {
        _table = table;
        _backlog = backlog;
        _owner = owner;
        _slot = slot;
        _level = level;
        // The pool would keep long ones when no batch waits any more.
        _bytes = item.Batch.Length <= LongestPooledBytes
            ? ArrayPool<byte>.Shared.Rent(item.Batch.Length)
            : GC.AllocateUninitializedArray<byte>(item.Batch.Length);
        item.Batch.CopyTo(_bytes);
        _items[0] = item;
        _items[0].Batch = _bytes.AsMemory(0, item.Batch.Length);
        Ticket = ticket;
        ParkedBytes = _bytes.Length;
    }

    /// <summary>Its place in the line; null when it does not stand there. Guarded by the backlog.</summary>
    public LinkedListNode<WaitingBatch>? Node { get; set; }

    public BacklogTicket Ticket { get; }

    public BrokerConnection Peer => _owner.Peer;

    public TopicBacklog Backlog => _backlog;

    /// <summary>The batch itself; the thread that took it out of the line may look at it.</summary>
    public ReadOnlySpan<byte> Bytes => _items[0].Batch.Span;

    public int ParkedBytes { get; }

    /// <summary>When its time is over, by the table's clock.</summary>
    public long DueAt { get; set; }

    /// <summary>Set when its time is over, also before it stands in line.</summary>
    public bool IsDue { get; set; }

    /// <inheritdoc/>
    public DeadlinePlace Place { get; } = new();

    /// <summary>Answers without storing.</summary>
    public void Refuse(ErrorCode error)
    {
        _items[0].Error = error;
        Finish();
    }

    /// <summary>Goes to the store, for which room in the backlog is taken. Waits while the store has none.</summary>
    public async ValueTask AppendAsync()
    {
        try
        {
            while (true)
            {
                switch (_table.Store.Append(_items, _level, this))
                {
                    case AppendStatus.Accepted:
                        return;
                    case AppendStatus.Nothing:
                        GiveRoomBack();
                        Finish();
                        return;
                }

                if (!await _table.WaitForStoreAsync(this))
                    break;
            }

            _items[0].Error = _table.Store.Figures.IsReadOnly ? ErrorCode.StorageFull : ErrorCode.Timeout;
        }
        catch (EQueueException exception)
        {
            _items[0].Error = exception.Code;
        }

        GiveRoomBack();
        Finish();
    }

    /// <inheritdoc/>
    protected override void OnCompleted(Exception? fault)
    {
        ref AppendItem item = ref _items[0];
        if (fault is not null && item.Error is ErrorCode.None or ErrorCode.DuplicateSequence)
            item.Error = ErrorCode.StoreFaulted;
        _backlog.Settle(Ticket, item.Error == ErrorCode.None ? item.FirstOffset.Value + Ticket.Messages : -1);
        Finish();
    }

    private void GiveRoomBack() => _backlog.Settle(Ticket, -1);

    private void Finish()
    {
        _table.Unpark(this);
        AppendItem item = _items[0];
        item.Batch = default;
        if (_bytes.Length <= LongestPooledBytes)
            ArrayPool<byte>.Shared.Return(_bytes);
        _owner.SettleWaiting(_slot, item);
    }
}
