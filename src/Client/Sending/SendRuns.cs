using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The messages of one call, put into batches run by run: each run has one receipt.</summary>
/// <remarks>Owned by the call, which awaits it.</remarks>
internal sealed class SendRuns(SendTerms terms, TopicLane topic, MessageEncoder messages)
{
    private readonly List<(int FirstIndex, Awaitable Awaitable)> _runs = [];
    private int _next;

    /// <summary>Sends the messages in order; completes when all of them are stored.</summary>
    public async ValueTask<BatchReceipt> SendAsync(CancellationToken cancellationToken)
    {
        if (topic.IsAtRest)
        {
            topic.Check(messages);
            Append();
        }

        if (_next < messages.Count)
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

        return failure is null ? new BatchReceipt(receipts, messages.Count) : throw failure;
    }

    /// <summary>Puts as many messages into batches as need no waiting.</summary>
    private void Append()
    {
        while (_next < messages.Count)
        {
            int taken = topic.TryAppendRun(messages, _next, out Awaitable awaitable);
            if (taken == 0)
                break;
            _runs.Add((_next, awaitable));
            _next += taken;
        }
    }

    private async ValueTask AppendInTurnAsync(CancellationToken cancellationToken)
    {
        using var patience = new SendPatience(terms, topic, messages.HasKeys, cancellationToken);
        try
        {
            using IDisposable turn = await TakeTurnAsync(patience.Token).ConfigureAwait(false);
            while (_next < messages.Count)
            {
                bool isKeyed = messages.HasKey(_next);
                await topic.ResolveAsync(isKeyed, patience.Token).ConfigureAwait(false);
                if (_next == 0)
                    topic.Check(messages);
                Task released = terms.Budget.WhenReleased();
                int before = _next;
                Append();
                if (_next == before && topic.IsKnownFor(isKeyed))
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
            bool mustPassKeys = messages.HasKeys && (topic.IsWhole || !topic.IsResolved);
            IDisposable turn = await topic.Lines.TakeTurnAsync(mustPassKeys, cancellationToken).ConfigureAwait(false);
            try
            {
                await topic.ResolveAsync(isKeyed: false, cancellationToken).ConfigureAwait(false);
            }
            catch
            {
                turn.Dispose();
                throw;
            }

            if (!messages.HasKeys || topic.IsWhole)
                return turn;
            turn.Dispose();
            await topic.ResolveAsync(isKeyed: true, cancellationToken).ConfigureAwait(false);
        }
    }
}
