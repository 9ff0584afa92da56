namespace EQueue.Remoting;

/// <summary>Answers that came together: their slots are freed together, under one lock, before their sinks are
/// called, and all can be seen before the first awaiter goes on.</summary>
/// <remarks>Of one receiver at a time.</remarks>
internal sealed class AnswerBurst(InFlightRing ring)
{
    private const int MaxAnswers = 64;

    private readonly uint[] _ids = new uint[MaxAnswers];
    private readonly InFlightRing.Ending[] _endings = new InFlightRing.Ending[MaxAnswers];
    private readonly ResponseFrame[] _responses = new ResponseFrame[MaxAnswers];
    private readonly PendingCall?[] _waiting = new PendingCall?[MaxAnswers];
    private int _count;

    /// <summary>Adds the answer of a call that was disarmed; delivers what is there when that is much.</summary>
    public void Add(uint id, in InFlightRing.Ending ending, in ResponseFrame response)
    {
        _ids[_count] = id;
        _endings[_count] = ending;
        if (ending.Sink is PendingCall call) call.Keep(response);
        else _responses[_count] = response;
        if (++_count == MaxAnswers) Deliver();
    }

    /// <summary>Ends the calls.</summary>
    public void Deliver()
    {
        if (_count == 0) return;
        ring.Free(_ids.AsSpan(0, _count));
        int waitingCount = 0;
        for (int i = 0; i < _count; i++)
        {
            if (_endings[i].Sink is not PendingCall call) Answer(i);
            else if (call.TryShow()) _waiting[waitingCount++] = call;
        }

        Array.Clear(_endings, 0, _count);
        _count = 0;
        for (int i = 0; i < waitingCount; i++) _waiting[i]!.GoOn();
        Array.Clear(_waiting, 0, waitingCount);
    }

    private void Answer(int index)
    {
        ring.Answer(_endings[index], _responses[index]);
        _responses[index] = default;
    }
}
