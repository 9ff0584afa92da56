using EQueue.MessageStore;

namespace EQueue.Broker;

/// <content>Keeps to the quotas: a client in debt is served later, the queues of a topic in debt rest meanwhile.
/// </content>
internal sealed partial class FetchHandler
{
    /// <summary>Entry bytes that an answer may carry whatever the rate.</summary>
    private const int SmallestShare = 64 << 10;

    /// <summary>Puts a request off whose client is in debt.</summary>
    /// <returns>True when the session is the hold's now.</returns>
    private bool TryHold(FetchSession session)
    {
        if (_isStopping || _quotas.OfClient(session.Peer) is not { } accounts)
            return false;
        TimeSpan debt = accounts.FetchDebt;
        if (debt < QuotaTable.ShortestWait)
            return false;
        _quotas.Throttle.Count(debt);
        session.BeginHold();
        _holds.Add(session, QuotaTable.Cut(debt));
        if (_isStopping)
            EndHold(session);
        return true;
    }

    private void EndHold(FetchSession session)
    {
        if (!session.TryEndHold())
            return;
        _holds.Remove(session);
        Start(session, isOnReceiveLoop: false);
    }

    /// <summary>Lets a queue rest whose topic is in debt; else cuts its share to what the topic may give at once.
    /// </summary>
    private bool TryRest(FetchSession session, SessionQueue queue, ref int maxBytes)
    {
        if (!_quotas.IsUsed || !_catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic)
            || _quotas.OfTopic(topic) is not { } accounts)
            return false;
        maxBytes = ShareOf(accounts, maxBytes);
        TimeSpan debt = accounts.FetchDebt;
        if (debt < QuotaTable.ShortestWait || _isStopping)
            return false;
        _quotas.Throttle.Count(debt);
        session.Rest(queue, debt);
        return true;
    }

    private static int ShareOf(QuotaAccounts accounts, int maxBytes) => accounts.Fetch is { } fetch
        ? (int)Math.Min(maxBytes, Math.Max(fetch.PerSecond, SmallestShare))
        : maxBytes;

    private void ChargeTopic(SessionQueue queue, in ReadResult read)
    {
        if (!_quotas.IsUsed || !_catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic))
            return;
        QuotaAccounts? accounts = _quotas.OfTopic(topic);
        accounts?.Fetch?.Charge(read.Size);
        accounts?.ChargeRequest();
    }
}
