using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>
/// The awaitables of the batch's messages. A token is a number that the object gives out once in its life, so an await
/// that comes too late or twice never meets another message: tokens of a use are <c>_firstToken</c> + index, and an
/// object whose 65,536 tokens are used up is left to the garbage collector, its slots go to a new one. An object goes
/// back to the pool when the batch is settled and every awaitable was awaited; one that is never awaited keeps its
/// object out of the pool, nothing more.
/// </content>
internal sealed partial class SendBatch
    : IValueTaskSource<SendReceipt>, IValueTaskSource<BatchReceipt>, IThreadPoolWorkItem
{
    private const int TokenCount = ushort.MaxValue + 1;
    private const int FewAwaitables = 16;

    /// <summary>The continuation of a blocked sender: runs at once, wherever that is.</summary>
    private static readonly Action<object?> WakeBlocked = static waiter => ((ManualResetEventSlim)waiter!).Set();

    /// <summary>Stands in a slot whose continuation is a <see cref="SendCallback"/>.</summary>
    private static readonly Action<object?> Callback = static _ => throw new InvalidOperationException();

    /// <summary>Stands in a slot whose continuation was taken.</summary>
    private static readonly Action<object?> Taken = static _ => throw new InvalidOperationException();

    /// <summary>Stands in a slot whose result was given.</summary>
    private static readonly Action<object?> Consumed = static _ => throw new InvalidOperationException();

    private readonly AwaitSlots _slots;
    private readonly BatchPool _pool;
    private TaskCompletionSource? _done;
    private EQueueException? _failure;
    private ProduceResult _result;
    private int _firstToken;
    private int _count;
    private int _awaitables;
    private int _references;
    private int _isSettled;

    public SendBatch(BatchPool pool)
        : this(pool, new AwaitSlots())
    {
    }

    private SendBatch(BatchPool pool, AwaitSlots cleanSlots)
    {
        _pool = pool;
        _slots = cleanSlots;
    }

    /// <summary>Messages with an awaitable or a callback.</summary>
    public int Awaitables => _awaitables;

    /// <summary>Gives the message that was appended last an awaitable. Under the gate.</summary>
    /// <returns>The awaitable's <see cref="Awaitable.Number"/>.</returns>
    public int Issue() => IssueOf(RecordCount - 1);

    /// <summary>Gives the messages that were appended last one awaitable, that of the first of them. Under the
    /// gate.</summary>
    /// <param name="messages">How many.</param>
    /// <param name="receipt">Of them all, to be told and given when they are stored; null to give the receipt of the
    /// first.</param>
    public int Issue(int messages, BatchReceipt? receipt)
    {
        int index = RecordCount - messages;
        int number = IssueOf(index);
        _slots.At(index).Context = receipt;
        return number;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int IssueOf(int index)
    {
        _awaitables++;
        _count = index + 1;
        _slots.Make(index);
        return _firstToken + index;
    }

    /// <summary>Gives the message that was appended last a callback. Under the gate.</summary>
    public void Issue(SendCallback callback, object? state)
    {
        ref AwaitSlots.Slot slot = ref _slots.At(Issue() - _firstToken);
        slot.State = state;
        slot.Context = callback;
        slot.Continuation = Callback;
    }

    /// <summary>Completes when the batch is settled. Under the gate.</summary>
    public Task WhenDone() =>
        (_done ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;

    /// <summary>
    /// Settles the batch: gives memory back and wakes the waiters. Called once, not under the gate.
    /// </summary>
    /// <param name="result">Where the batch is; ignored with a <paramref name="failure"/>.</param>
    /// <param name="failure">Why it is not stored.</param>
    public void Settle(in ProduceResult result, EQueueException? failure)
    {
        _result = result;
        _failure = failure;
        IBatchOwner owner = Owner;
        long reserved = ReservedBytes;
        Frame!.Dispose();
        Frame = null;
        _references = _awaitables + 1;
        Interlocked.Exchange(ref _isSettled, 1);
        owner.ReleaseMemory(reserved);
        _done?.TrySetResult();
        if (!WakeBlockedOnes())
        {
            EndHold();
            Release();
        }
        else if (_pool.CompletesInline)
        {
            Execute();
        }
        else
        {
            Hand();
        }
    }

    /// <summary>Many continuations take long and bring more to send: the receive loop's thread is not for them. What
    /// failed may have failed on any thread, also on one that waits for the outcome.</summary>
    private void Hand()
    {
        if (_failure is null && _awaitables <= FewAwaitables)
            AfterReceive.Queue(this);
        else
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    /// <summary>Runs the continuations and callbacks, then lets the batch go.</summary>
    public void Execute()
    {
        for (int i = 0; i < _count; i++)
        {
            ref AwaitSlots.Slot slot = ref _slots.At(i);
            Action<object?>? continuation = Volatile.Read(ref slot.Continuation);
            if (continuation is null || ReferenceEquals(continuation, Taken) || ReferenceEquals(continuation, Consumed))
                continue;
            if (Interlocked.CompareExchange(ref slot.Continuation, Taken, continuation) != continuation)
                continue;
            if (ReferenceEquals(continuation, Callback))
                RunCallback(i);
            else
                continuation(slot.State);
        }

        EndHold();
        Release();
    }

    /// <inheritdoc/>
    public ValueTaskSourceStatus GetStatus(short token)
    {
        if (ReferenceEquals(Volatile.Read(ref SlotOf(token).Continuation), Consumed))
            ThrowAwaitedTwice();
        if (Volatile.Read(ref _isSettled) == 0)
            return ValueTaskSourceStatus.Pending;
        return _failure is null ? ValueTaskSourceStatus.Succeeded : ValueTaskSourceStatus.Faulted;
    }

    /// <inheritdoc/>
    public void OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        ref AwaitSlots.Slot slot = ref SlotOf(token);
        if (Volatile.Read(ref slot.Continuation) is not null)
            ThrowAwaitedTwice();
        if (flags != ValueTaskSourceOnCompletedFlags.None
            && CapturedContinuation.TryCapture(continuation, state, flags) is { } captured)
        {
            continuation = CapturedContinuation.Run;
            state = captured;
        }

        slot.State = state;
        if (Interlocked.CompareExchange(ref slot.Continuation, continuation, null) is not null)
            ThrowAwaitedTwice();

        // The settler sets the flag and then looks at the slots; here the slot is set and then the flag is looked at.
        if (Volatile.Read(ref _isSettled) != 0
            && Interlocked.CompareExchange(ref slot.Continuation, Taken, continuation) == continuation)
        {
            if (ReferenceEquals(continuation, WakeBlocked))
                continuation(state);
            else
                ThreadPool.UnsafeQueueUserWorkItem(continuation, state, preferLocal: true);
        }
    }

    /// <inheritdoc/>
    public SendReceipt GetResult(short token)
    {
        ref AwaitSlots.Slot slot = ref SlotOf(token);
        if (Volatile.Read(ref _isSettled) == 0)
            throw new InvalidOperationException("The send has not completed: await it.");
        if (ReferenceEquals(Interlocked.Exchange(ref slot.Continuation, Consumed), Consumed))
            ThrowAwaitedTwice();
        slot.State = null;
        EQueueException? failure = _failure;
        SendReceipt receipt = failure is null ? ReceiptOf((ushort)token - _firstToken) : default;
        Release();
        return failure is null ? receipt : throw PublicCall.Anew(failure);
    }

    /// <inheritdoc/>
    BatchReceipt IValueTaskSource<BatchReceipt>.GetResult(short token)
    {
        var receipt = (BatchReceipt)SlotOf(token).Context!;
        return receipt.Complete(GetResult(token));
    }

    /// <summary>Blocks the calling thread until the message is settled.</summary>
    public SendReceipt Wait(short token)
    {
        if (GetStatus(token) == ValueTaskSourceStatus.Pending)
        {
            ManualResetEventSlim waiter = BlockedSender.OfThread;
            waiter.Reset();
            OnCompleted(WakeBlocked, waiter, token, ValueTaskSourceOnCompletedFlags.None);
            Owner.OnSenderBlocks();
            try
            {
                waiter.Wait();
            }
            catch (ThreadInterruptedException)
            {
                BlockedSender.Forget();
                throw;
            }
        }

        return GetResult(token);
    }

    private void EndHold()
    {
        if (Hold < 0)
            return;
        int hold = Hold;
        Hold = -1;
        Owner.OnContinuationsRan(hold);
    }

    private void ResetCompletion()
    {
        _done = null;
        _failure = null;
        _awaitables = 0;
        _count = 0;
        Volatile.Write(ref _isSettled, 0);
    }

    private SendReceipt ReceiptOf(int index) => new(
        Owner.TopicName,
        Owner.Number,
        _result.FirstOffset.Value < 0 ? _result.FirstOffset : new QueueOffset(_result.FirstOffset.Value + index),
        _result.StoredTimeMs,
        _result.Level);

    /// <summary>Wakes blocked senders at once: nothing of the application runs on this thread.</summary>
    /// <returns>Whether continuations or callbacks are left to run.</returns>
    private bool WakeBlockedOnes()
    {
        bool hasOthers = false;
        for (int i = 0; i < _count; i++)
        {
            ref AwaitSlots.Slot slot = ref _slots.At(i);
            Action<object?>? continuation = Volatile.Read(ref slot.Continuation);
            if (continuation is null)
                continue;
            if (!ReferenceEquals(continuation, WakeBlocked))
                hasOthers = true;
            else if (Interlocked.CompareExchange(ref slot.Continuation, Taken, continuation) == continuation)
                continuation(slot.State);
        }

        return hasOthers;
    }

    private void RunCallback(int index)
    {
        ref AwaitSlots.Slot slot = ref _slots.At(index);
        var callback = (SendCallback)slot.Context!;
        object? state = slot.State;
        slot.State = slot.Context = null;
        slot.Continuation = Consumed;
        SendReceipt receipt = _failure is null ? ReceiptOf(index) : default;
        EQueueException? failure = _failure;
        try
        {
            callback(state, receipt, failure);
        }
        catch (Exception exception)
        {
            Log.CallbackThrew(_pool.Logger, exception);
        }

        Release();
    }

    private void Release()
    {
        if (Interlocked.Decrement(ref _references) != 0)
            return;

        // Stale tokens must find nothing before the slots are clean again.
        int used = _count;
        _count = 0;
        _firstToken += RecordCount;
        _slots.Clear(used);
        _failure = null;
        _pool.Return(IsReusable ? this : new SendBatch(_pool, _slots));
    }

    /// <summary>Whether enough tokens are left for another use.</summary>
    private bool IsReusable => _firstToken + MaxRecords <= TokenCount;

    private ref AwaitSlots.Slot SlotOf(short token)
    {
        int index = (ushort)token - _firstToken;
        if ((uint)index >= (uint)_count || !_slots.Has(index))
            ThrowAwaitedTwice();
        return ref _slots.At(index);
    }

    [DoesNotReturn]
    private static void ThrowAwaitedTwice() =>
        throw new InvalidOperationException(
            "A send was awaited twice: its ValueTask may be awaited once (or call AsTask()).");
}
