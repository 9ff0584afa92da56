namespace EQueue.Client;

/// <summary>The sends of a topic that wait for its route or for memory, in the order of the calls.</summary>
/// <remarks>
/// One loop, which runs while anybody waits, admits them from the head. All have the same patience, so the first to
/// come is the first whose deadline passes: one timer serves all. Those that gave up stay in the line until the head
/// reaches them. Those with keys step aside, in their order, while a broker's share of the route is not known.
/// </remarks>
/// <param name="lines">Both lines of the _topic.</param>
/// <param name="aside">Where those with keys wait for the whole route; null in that line itself.</param>
internal sealed class SendLine(SendLines lines, SendLine? aside)
{
    private static readonly TimeSpan LongestWait = TimeSpan.FromDays(1);

    private readonly SendTerms _terms = lines.Terms;
    private readonly IAdmission _topic = lines.Topic;
    private readonly Lock _lock = new();
    private LineEntry? _first;
    private LineEntry? _last;
    private int _count;
    private bool _isPumping;
    private Task _pump = Task.CompletedTask;

    /// <summary>Whether the line is empty.</summary>
    public bool IsEmpty => Volatile.Read(ref _count) == 0;

    /// <summary>How many stand in line, those among them that gave up.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Completes when everybody who waits now has been admitted or has failed.</summary>
    public Task WhenEmpty()
    {
        lock (_lock)
            return _pump;
    }

    /// <summary>Stands behind everybody who waits.</summary>
    public void Add(LineEntry entry)
    {
        lock (_lock)
        {
            Volatile.Write(ref _count, _count + 1);
            Link(entry);
        }
    }

    /// <summary>Takes the head of another line: at no time do both seem empty.</summary>
    private void TakeFrom(SendLine other)
    {
        lock (_lock)
        {
            Volatile.Write(ref _count, _count + 1);
            LineEntry entry = other.Remove();
            entry.Next = null;
            Link(entry);
        }
    }

    private void Link(LineEntry entry)
    {
        if (_last is null)
            _first = entry;
        else
            _last.Next = entry;
        _last = entry;
        if (_isPumping)
            return;
        _isPumping = true;
        _pump = StartPump();
    }

    /// <summary>Starts the loop outside the context of who happens to come first: it serves all.</summary>
    private Task StartPump()
    {
        if (ExecutionContext.IsFlowSuppressed())
            return Task.Run(PumpAsync);
        using (ExecutionContext.SuppressFlow())
            return Task.Run(PumpAsync);
    }

    private async Task PumpAsync()
    {
        while (Head() is { } entry)
        {
            bool stepsAside = false;
            try
            {
                if (entry is WaitingSend send)
                    stepsAside = await AdmitAsync(send).ConfigureAwait(false);
                else
                    await PassAsync((LineTurn)entry).ConfigureAwait(false);
            }
            finally
            {
                if (stepsAside)
                    aside!.TakeFrom(this);
                else
                    Remove();
            }
        }
    }

    private LineEntry? Head()
    {
        lock (_lock)
        {
            _isPumping = _first is not null;
            return _first;
        }
    }

    private LineEntry Remove()
    {
        lock (_lock)
        {
            LineEntry head = _first!;
            _first = head.Next;
            if (_first is null)
                _last = null;
            Volatile.Write(ref _count, _count - 1);
            return head;
        }
    }

    /// <summary>Completes when the send is admitted or has failed, or has to step aside.</summary>
    /// <returns>Whether it has to.</returns>
    private async Task<bool> AdmitAsync(WaitingSend send)
    {
        while (!send.IsOver)
        {
            if (_terms.Closing.IsCancellationRequested)
            {
                _terms.NoteUnsent(_topic.Name, 1, mayBeStored: false);
                send.Fail(Faults.Closed(mayBeStored: false));
                return false;
            }

            try
            {
                await ResolveAsync(wholly: aside is null).ConfigureAwait(false);
                if (aside is not null && send.IsKeyed && _topic.IsResolved && !(_topic.IsWhole && aside.IsEmpty))
                    return true;
                Task released = _terms.Budget.WhenReleased();
                if (!send.TryAdmit() && _topic.IsKnownFor(send.IsKeyed))
                {
                    using var either = CancellationTokenSource.CreateLinkedTokenSource(
                        _terms.Closing, lines.WhileAnyWaits());
                    await WaitAsync(released, either.Token).ConfigureAwait(false);
                }
            }
            catch (OperationCanceledException)
            {
                // The producer ends, or no send waits any more: the next round sees it.
            }
            catch (Exception exception)
            {
                // A defect, or no memory: it must not hold up those who come after.
                send.Fail(new EQueueException(ErrorCode.InternalError, exception.Message, exception));
            }
        }

        return false;
    }

    private async Task PassAsync(LineTurn turn)
    {
        turn.Grant();
        while (!turn.Ended.IsCompleted)
            await WaitAsync(turn.Ended, CancellationToken.None).ConfigureAwait(false);
    }

    /// <summary>Learns the route. What refuses it is told to everybody who waits for it.</summary>
    private async Task ResolveAsync(bool wholly)
    {
        if (_topic.IsKnownFor(isKeyed: wholly))
            return;
        using var patience = new CancellationTokenSource(PatienceLeft(), _terms.Time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(
            _terms.Closing, patience.Token, lines.WhileAnyWaits());
        try
        {
            await _topic.ResolveAsync(isKeyed: wholly, either.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (
            exception is OperationCanceledException or EQueueException { Code: ErrorCode.Cancelled })
        {
            _terms.Closing.ThrowIfCancellationRequested();
            GiveUpOverdue();
        }
        catch (EQueueException exception)
        {
            foreach (WaitingSend send in Sends())
                send.Fail(exception);
        }
    }

    /// <summary>Waits; whose deadline passes meanwhile fails.</summary>
    private async Task WaitAsync(Task task, CancellationToken cancellationToken)
    {
        try
        {
            await task.WaitAsync(PatienceLeft(), _terms.Time, cancellationToken).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            GiveUpOverdue();
        }
    }

    /// <summary>Until the first deadline of those who wait.</summary>
    private TimeSpan PatienceLeft()
    {
        foreach (WaitingSend send in Sends())
        {
            long now = _terms.Time.GetTimestamp();
            if (now >= send.Deadline)
                return TimeSpan.Zero;
            TimeSpan left = _terms.Time.GetElapsedTime(now, send.Deadline);
            return left < LongestWait ? left : LongestWait;
        }

        return LongestWait;
    }

    private void GiveUpOverdue()
    {
        long now = _terms.Time.GetTimestamp();
        foreach (WaitingSend send in Sends())
        {
            if (send.Deadline > now)
                break;
            send.Fail(_topic.ShortageFor(send.IsKeyed));
        }
    }

    /// <summary>The sends that still wait, in their order. Only the loop takes entries out, so it may walk.</summary>
    private IEnumerable<WaitingSend> Sends()
    {
        LineEntry? entry;
        lock (_lock)
            entry = _first;
        while (entry is not null)
        {
            if (entry is WaitingSend { IsOver: false } send)
                yield return send;
            lock (_lock)
                entry = entry.Next;
        }
    }
}
