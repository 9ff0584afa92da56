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

        // Others of the same client may be served first again and again: not without end.
        TimeSpan left = Throttle.LongestWait - _time.GetElapsedTime(session.LastUsed);
        TimeSpan debt = accounts.FetchDebt < left ? accounts.FetchDebt : left;
        if (debt < Throttle.ShortestWait)
            return false;
        _quotas.Throttle.Count(debt);
        PutOff(session, debt);
        return true;
    }

    private void EndHold(FetchSession session)
    {
        if (!session.TryEndHold())
            return;
        _holds.Remove(session);
        Start(session, maySendHere: false);
    }

    /// <summary>Lets a queue rest whose topic is in debt; else cuts its share to what the topic may give at once.
    /// </summary>
    private bool TryRest(FetchSession session, SessionQueue queue, ref int maxBytes)
    {
        if (!_quotas.IsUsed || !_catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic)
            || _quotas.OfTopic(topic) is not { } accounts)
        {
            return false;
        }

        maxBytes = ShareOf(accounts, maxBytes);
        TimeSpan debt = accounts.FetchDebt;
        if (debt < Throttle.ShortestWait || _isStopping)
            return false;
        _quotas.Throttle.Count(debt);
        session.Rest(queue, debt);
        return true;
    }

    private static int ShareOf(QuotaAccounts accounts, int maxBytes) => accounts.Fetch is { } fetch
        ? (int)Math.Min(maxBytes, Math.Max(fetch.PerSecond, SmallestShare))
        : maxBytes;

    /// <summary>What an answer takes from each topic; empty while there is no quota.</summary>
    private (Topic Topic, int Bytes)[] GivenBy(FetchSession session)
    {
        if (!_quotas.IsUsed || session.Served.Count == 0)
            return [];
        var given = new List<(Topic Topic, int Bytes)>(session.Served.Count);
        foreach (SessionQueue queue in session.Served)
        {
            if (_catalogue.TryFindByQueue(queue.Key.Id, out Topic? topic))
                given.Add((topic, queue.GivenBytes));
        }

        return [.. given];
    }

    /// <summary>Charges for an answer that leaves.</summary>
    private void Charge(BrokerConnection peer, (Topic Topic, int Bytes)[] given, int bytes)
    {
        _quotas.OfClient(peer)?.Fetch?.Charge(bytes);
        foreach ((Topic topic, int part) in given)
        {
            QuotaAccounts? accounts = _quotas.OfTopic(topic);
            accounts?.Fetch?.Charge(part);
            accounts?.ChargeRequest();
        }
    }
}
