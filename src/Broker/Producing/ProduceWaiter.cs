using System.Runtime.InteropServices;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>One produce request under way: what its batches are, what became of them, and whom to answer.</summary>
/// <remarks>
/// Pooled. Filled on the receive loop; from the moment the store has accepted it, it belongs to the store's thread that
/// calls <see cref="OnCompleted"/>, which answers and gives it back.
/// </remarks>
internal sealed class ProduceWaiter(ProduceWaiterPool pool) : AppendWaiter
{
    private const int MaxPooledBatches = 1_024;
    private const int RetryAfterMs = 1_000;

    private Slot[] _slots = new Slot[4];
    private AppendItem[] _items = new AppendItem[4];
    private int _slotCount;
    private int _itemCount;
    private BrokerConnection? _peer;
    private FrameHeader _request;
    private Durability _level;

    /// <summary>The batches that the store is to append.</summary>
    public Span<AppendItem> Items => _items.AsSpan(0, _itemCount);

    public bool IsPoolable => _slots.Length <= MaxPooledBatches;

    public void Begin(BrokerConnection peer, in FrameHeader request, Durability level, int batchCount)
    {
        _peer = peer;
        _request = request;
        _level = level;
        _slotCount = 0;
        _itemCount = 0;
        if (_slots.Length < batchCount)
        {
            _slots = new Slot[batchCount];
            _items = new AppendItem[batchCount];
        }
    }

    public void AddBatch(in ProduceBatchHeader header, ReadOnlyMemory<byte> batch, int messages)
    {
        ref AppendItem item = ref _items[_itemCount];
        item.Queue = header.Queue;
        item.Batch = batch;
        item.TagBits = header.TagBits;
        item.Error = ErrorCode.None;
        _slots[_slotCount++] = new Slot(ErrorCode.None, _itemCount++, messages);
    }

    public void AddRefused(ErrorCode error) => _slots[_slotCount++] = new Slot(error, -1, 0);

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

        Complete(isOnReceiveLoop);
    }

    /// <summary>Gives a request up that nobody waits for any more and of which nothing was appended.</summary>
    public void Abandon()
    {
        _peer!.EndRequest();
        Release();
    }

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

        Complete(isOnReceiveLoop: false);
    }

    private void Complete(bool isOnReceiveLoop)
    {
        BrokerConnection peer = _peer!;
        FrameHeader request = _request;
        Count();
        FrameBuffer? answer = null;
        if (!request.IsOneway)
        {
            int size = ProduceResponse.SizeOf(_slotCount);
            answer = FrameBuffer.Rent(size);
            Write(answer.Reserve(size));
        }

        Release();
        if (answer is not null)
            peer.Answer(request, answer, isOnReceiveLoop);
        peer.EndRequest();
    }

    private void Write(Span<byte> target)
    {
        ProduceResponse.WriteHeader(target, 0, _slotCount);
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
        error is ErrorCode.StorageFull or ErrorCode.StoreFaulted ? RetryAfterMs : 0);

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
        _peer = null;
        pool.Return(this);
    }

    [StructLayout(LayoutKind.Auto)]
    private readonly record struct Slot(ErrorCode Error, int Item, int Messages);
}
