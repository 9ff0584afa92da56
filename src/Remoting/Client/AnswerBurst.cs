namespace EQueue.Remoting;

/// <summary>Answers that came together: their slots are freed together, under one lock, before their sinks are
/// called, and all can be seen before the first awaiter continues.</summary>
/// <remarks>Of one receiver at a time.</remarks>
internal sealed class AnswerBurst(InFlightRing ring)
{
    private const int MaxAnswers = 64;

    private readonly uint[] _ids = new uint[MaxAnswers];
    private readonly InFlightRing.Ending[] _endings = new InFlightRing.Ending[MaxAnswers];
    private readonly ResponseFrame[] _responses = new ResponseFrame[MaxAnswers];
    private readonly PendingCall?[] _waiting = new PendingCall?[MaxAnswers];
    private int _count;
    private bool _hasResponses;

    /// <summary>Adds an awaited call that was disarmed and has its answer in its cell; delivers what is there when that
    /// is much.</summary>
    public void Add(uint id, in InFlightRing.Ending ending)
    {
        _ids[_count] = id;
        _endings[_count] = ending;
        if (++_count == MaxAnswers)
            Deliver();
    }

    /// <summary>Adds the answer of a call that was disarmed.</summary>
    public void Add(uint id, in InFlightRing.Ending ending, in ResponseFrame response)
    {
        _responses[_count] = response;
        _hasResponses = true;
        Add(id, ending);
    }

    /// <summary>Ends the calls.</summary>
    public void Deliver()
    {
        if (_count == 0)
            return;
        ring.CountEnded(_count);
        EndWatches();
        int sinkCount = Show();
        int waitingCount = Claim();
        ring.Free(_ids.AsSpan(0, _count));
        if (sinkCount > 0)
            AnswerSinks();
        Array.Clear(_endings, 0, _count);
        if (_hasResponses)
            Array.Clear(_responses, 0, _count);
        _hasResponses = false;
        _count = 0;
        for (int i = 0; i < waitingCount; i++)
            _waiting[i]!.GoOn();
        Array.Clear(_waiting, 0, waitingCount);
    }

    /// <returns>How many of the sinks are callers' own.</returns>
    private int Show()
    {
        int sinkCount = 0;
        for (int i = 0; i < _count; i++)
        {
            if (_endings[i].Sink is not PendingCall call)
                sinkCount++;
            else if (_hasResponses && !_responses[i].IsNone)
                call.Show(_responses[i]);
            else
                call.Show();
        }

        return sinkCount;
    }

    private int Claim()
    {
        int waitingCount = 0;
        Interlocked.MemoryBarrier();
        for (int i = 0; i < _count; i++)
        {
            if (_endings[i].Sink is PendingCall call && call.TryClaim())
                _waiting[waitingCount++] = call;
        }

        return waitingCount;
    }

    private void AnswerSinks()
    {
        for (int i = 0; i < _count; i++)
        {
            if (_endings[i].Sink is not PendingCall)
                ring.Answer(_endings[i], _responses[i]);
        }
    }

    private void EndWatches()
    {
        for (int i = 0; i < _count; i++)
            _endings[i].Watch?.End();
    }
}
