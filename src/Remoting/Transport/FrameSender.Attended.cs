namespace EQueue.Remoting;

/// <content>Sending by the thread of the poller that is at the connection's socket, for as long as it is there and many
/// calls are under way: it looks for their answers anyway, and what leaves and what comes then never wait for each
/// other at the socket, nor for a thread that has to wake first.</content>
/// <remarks>The attendant begins with <see cref="Attend"/>, sends by <see cref="TrySendAttended"/> whenever it has
/// nothing else to do, and ends with <see cref="Leave"/>. In between, a caller that queues starts no drain; one that
/// runs already ends after what it has at hand. Where more threads want to run than there are cores, the attendant may
/// have none for a while: then a caller that queues sends a piece now and then, before what waits has left the
/// cache.</remarks>
internal sealed partial class FrameSender
{
    /// <summary>Less than the pool waits for: answers may wait for this thread meanwhile.</summary>
    private const int GatheredByAttendantBytes = 64 * 1024;

    /// <summary>So much is queued while the attendant neither sends nor looks only when it does not run.</summary>
    private const int AbsenceBytes = 1024 * 1024;

    /// <summary>What waits then, beyond this, costs more later than the caller's time now.</summary>
    private const int RelievedAboveBytes = 256 * 1024;

    private bool _isAttended;
    private long _bytesInAbsence;

    /// <summary>Whether a thread attends and has not left yet.</summary>
    public bool IsAttended => Volatile.Read(ref _isAttended);

    /// <summary>The calling thread sends what is queued from now on.</summary>
    public void Attend()
    {
        if (!_isAttended)
            Volatile.Write(ref _isAttended, true);
    }

    /// <summary>Sends a piece of what is queued by now, on this thread.</summary>
    /// <returns>Whether there was something to send, and no other thread at it.</returns>
    public bool TrySendAttended()
    {
        if (!IsAttended || Volatile.Read(ref _queuedBytes) == 0 || _drain == DrainState.Running)
            return false;
        Gather(GatheredByAttendantBytes);
        using (_gate.Enter())
        {
            _bytesInAbsence = 0;
            if (_drain == DrainState.Running || _queue.IsEmpty)
                return false;
            _drain = DrainState.Running;
        }

        Observe(SendAttendedAsync());
        return true;
    }

    /// <summary>The calling thread has left the socket: what is queued, and whatever comes, is others' to send.
    /// </summary>
    public void Leave()
    {
        if (!IsAttended)
            return;
        bool isNew;
        using (_gate.Enter())
        {
            _isAttended = false;
            _bytesInAbsence = 0;
            isNew = !_queue.IsEmpty && MustStart(inline: false);
        }

        if (isNew)
            Start(inline: false);
    }

    /// <summary>So many bytes were queued: whether this thread is to send a piece, because no thread does and the
    /// attendant has not looked for long. What comes in large frames has its own rhythm. Under the gate.</summary>
    private bool MustRelieve(int bytes)
    {
        if (_drain != DrainState.None)
            return false;
        _bytesInAbsence += bytes;
        if (!_callersHelp || bytes > FrameQueue.SmallFrameBytes)
            return false;
        if (_bytesInAbsence < AbsenceBytes || _queuedBytes < RelievedAboveBytes)
            return false;
        _drain = DrainState.Running;
        return true;
    }

    /// <summary>One piece; a wire that is full takes the rest of it elsewhere. What follows is the pool's once the
    /// attendant has left.</summary>
    private async Task SendAttendedAsync()
    {
        try
        {
            if (!TakeBatch(isAttendant: true))
                return;
            await SendBatchAsync(_batch).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            Fail(exception);
            return;
        }

        bool isNew = false;
        using (_gate.Enter())
        {
            if (_isAttended || _queue.IsEmpty)
                EndDrain();
            else
                isNew = TrySchedule();
        }

        if (isNew)
            Start(inline: false);
    }
}
