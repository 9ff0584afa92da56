namespace EQueue.Client;

/// <summary>The messages of one call, put into batches run by run. The usual call is one run and needs no waiting: its
/// batch completes it, and nothing is kept for it but its receipt.</summary>
/// <remarks>An object is made only for a call of several runs, or one that must wait. Owned by the call, which awaits
/// it.</remarks>
internal sealed class SendRuns
{
    private readonly SendTerms _terms;
    private readonly TopicLane _topic;
    private readonly ReadOnlyMemory<Message> _messages;
    private readonly bool _hasKeys;
    private readonly List<(int FirstIndex, Awaitable Awaitable)> _runs = [];
    private int _next;

    private SendRuns(SendTerms terms, TopicLane topic, ReadOnlyMemory<Message> messages)
    {
        _terms = terms;
        _topic = topic;
        _messages = messages;
        foreach (ref readonly Message message in messages.Span)
            _hasKeys |= message.Key is not null;
    }

    /// <summary>Sends the messages in order; completes when all of them are stored.</summary>
    /// <exception cref="EQueueException">What is known at once, before anything was sent.</exception>
    public static ValueTask<BatchReceipt> SendAsync(
        SendTerms terms, TopicLane topic, IReadOnlyList<Message> messages, CancellationToken cancellationToken)
    {
        ReadOnlySpan<Message> all = MessageEncoder.SpanOf(messages);
        foreach (ref readonly Message message in all)
            TagRules.Check(message.Tag);
        int taken = 0;
        Awaitable first = default;
        if (all.Length > 0 && topic.IsAtRest)
        {
            topic.Check(all);
            taken = topic.TryAppendRun(all, new BatchReceipt(all.Length), out first);
            if (taken == all.Length)
                return new ValueTask<BatchReceipt>(first.Batch, first.Token);
        }

        SendRuns runs = new(terms, topic, MessageEncoder.MemoryOf(messages));
        if (taken > 0)
            runs.Note(taken, first);
        return runs.SendRestAsync(cancellationToken);
    }

    private async ValueTask<BatchReceipt> SendRestAsync(CancellationToken cancellationToken)
    {
        if (_next > 0)
            Append();
        if (_next < _messages.Length)
            await AppendInTurnAsync(cancellationToken).ConfigureAwait(false);

        var receipts = new BatchReceipt.Run[_runs.Count];
        Exception? failure = null;
        for (int i = 0; i < receipts.Length; i++)
        {
            try
            {
                SendReceipt receipt = await _runs[i].Awaitable.ToValueTask().ConfigureAwait(false);
                receipts[i] = new BatchReceipt.Run(_runs[i].FirstIndex, receipt);
            }
            catch (Exception exception) when (exception is EQueueException or ObjectDisposedException)
            {
                failure ??= exception;
            }
        }

        return failure is null ? new BatchReceipt(receipts, _messages.Length) : throw failure;
    }

    /// <summary>Puts as many messages into batches as need no waiting.</summary>
    private void Append()
    {
        while (_next < _messages.Length)
        {
            int taken = _topic.TryAppendRun(_messages.Span[_next..], null, out Awaitable awaitable);
            if (taken == 0)
                break;
            Note(taken, awaitable);
        }
    }

    private void Note(int taken, Awaitable awaitable)
    {
        _runs.Add((_next, awaitable));
        _next += taken;
    }

    private async ValueTask AppendInTurnAsync(CancellationToken cancellationToken)
    {
        using var patience = new SendPatience(_terms, _topic, _hasKeys, cancellationToken);
        try
        {
            using IDisposable turn = await TakeTurnAsync(patience.Token).ConfigureAwait(false);
            while (_next < _messages.Length)
            {
                bool isKeyed = _messages.Span[_next].Key is not null;
                await _topic.ResolveAsync(isKeyed, patience.Token).ConfigureAwait(false);
                if (_next == 0)
                    _topic.Check(_messages.Span);
                Task released = _terms.Budget.WhenReleased();
                int before = _next;
                Append();
                if (_next == before && _topic.IsKnownFor(isKeyed))
                    await released.WaitAsync(patience.Token).ConfigureAwait(false);
            }
        }
        catch (Exception exception) when (SendPatience.Covers(exception))
        {
            throw patience.Explain(exception);
        }
    }

    /// <summary>The turn of the call in the order of calls. With keys it is given up while a broker has never told its
    /// share: those without need not wait for that.</summary>
    private async ValueTask<IDisposable> TakeTurnAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            bool mustPassKeys = _hasKeys && (_topic.IsWhole || !_topic.IsResolved);
            IDisposable turn = await _topic.Lines.TakeTurnAsync(mustPassKeys, cancellationToken).ConfigureAwait(false);
            try
            {
                await _topic.ResolveAsync(isKeyed: false, cancellationToken).ConfigureAwait(false);
            }
            catch
            {
                turn.Dispose();
                throw;
            }

            if (!_hasKeys || _topic.IsWhole)
                return turn;
            turn.Dispose();
            await _topic.ResolveAsync(isKeyed: true, cancellationToken).ConfigureAwait(false);
        }
    }
}
