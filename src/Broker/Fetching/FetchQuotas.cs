namespace EQueue.Broker;

/// <summary>What the quotas let fetches take: a client in debt is served later, the queues of a topic in debt rest
/// meanwhile.</summary>
internal sealed class FetchQuotas(QuotaTable quotas, TopicCatalogue catalogue, TimeProvider time)
{
    /// <summary>Entry bytes that an answer may carry whatever the rate.</summary>
    private const int SmallestShare = 64 << 10;

    /// <summary>Whether there is any quota: then each answer is asked for, and charged, by itself.</summary>
    public bool AreUsed => quotas.IsUsed;

    /// <summary>Whether a request must be put off because its client is in debt; then it is counted.</summary>
    /// <param name="session">Whose request.</param>
    /// <param name="debt">For how long.</param>
    public bool IsInDebt(FetchSession session, out TimeSpan debt)
    {
        debt = default;
        if (quotas.OfClient(session.Peer) is not { } accounts)
            return false;

        // Others of the same client may be served first again and again: not without end.
        TimeSpan left = Throttle.LongestWait - time.GetElapsedTime(session.LastUsed);
        debt = accounts.FetchDebt < left ? accounts.FetchDebt : left;
        if (debt < Throttle.ShortestWait)
            return false;
        quotas.Throttle.Count(debt);
        return true;
    }

    /// <summary>What of a number of bytes a client may be given at once.</summary>
    public int ShareOf(BrokerConnection peer, int maxBytes) =>
        quotas.OfClient(peer) is { } accounts ? ShareOf(accounts, maxBytes) : maxBytes;

    /// <summary>Lets a queue rest whose topic is in debt; else cuts its share to what the topic may give at once.
    /// </summary>
    public bool TryRest(FetchSession session, SessionQueue queue, bool mayRest, ref int maxBytes)
    {
        if (!quotas.IsUsed || !catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic)
            || quotas.OfTopic(topic) is not { } accounts)
        {
            return false;
        }

        maxBytes = ShareOf(accounts, maxBytes);
        TimeSpan debt = accounts.FetchDebt;
        if (debt < Throttle.ShortestWait || !mayRest)
            return false;
        quotas.Throttle.Count(debt);
        session.Rest(queue, debt);
        return true;
    }

    /// <summary>What an answer takes from each topic; empty while there is no quota.</summary>
    public (Topic Topic, int Bytes)[] GivenBy(FetchSession session)
    {
        if (!quotas.IsUsed || session.Served.Count == 0)
            return [];
        var given = new List<(Topic Topic, int Bytes)>(session.Served.Count);
        foreach (SessionQueue queue in session.Served)
        {
            if (catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic))
                given.Add((topic, queue.GivenBytes));
        }

        return [.. given];
    }

    /// <summary>Charges for an answer that leaves.</summary>
    public void Charge(BrokerConnection peer, (Topic Topic, int Bytes)[] given, int bytes)
    {
        quotas.OfClient(peer)?.Fetch?.Charge(bytes);
        foreach ((Topic topic, int part) in given)
        {
            QuotaAccounts? accounts = quotas.OfTopic(topic);
            accounts?.Fetch?.Charge(part);
            accounts?.ChargeRequest();
        }
    }

    private static int ShareOf(QuotaAccounts accounts, int maxBytes) => accounts.Fetch is { } fetch
        ? (int)Math.Min(maxBytes, Math.Max(fetch.PerSecond, SmallestShare))
        : maxBytes;
}
