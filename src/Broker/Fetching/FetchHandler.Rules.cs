namespace EQueue.Broker;

/// <content>What the rules of the broker let a session read.</content>
internal sealed partial class FetchHandler
{
    /// <summary>Parked requests for what may not be read any more are answered so.</summary>
    public void OnRulesChanged()
    {
        foreach (FetchSession session in _sessions.Keys)
        {
            if (!session.TryMove(FetchPhase.Parked, FetchPhase.Serving))
                continue;
            Unpark(session);
            foreach (SessionQueue queue in session.Queues.Values)
            {
                if (!MayRead(session, queue))
                    session.MakeReady(queue);
            }

            Start(session, maySendHere: false);
        }
    }

    private static bool MayRead(FetchSession session, SessionQueue queue) =>
        queue.Topic is not { } topic || session.Access.MayRead(topic);
}
