namespace EQueue.Remoting;

/// <summary>Answers that came together: their slots are freed together, under one lock, before their sinks are
/// called.</summary>
/// <remarks>Of one receiver at a time.</remarks>
internal sealed class AnswerBurst(InFlightRing ring)
{
    private const int MaxAnswers = 64;

    private readonly uint[] _ids = new uint[MaxAnswers];
    private readonly Answer[] _answers = new Answer[MaxAnswers];
    private int _count;

    /// <summary>Adds the answer of a call that was disarmed; delivers what is there when that is much.</summary>
    public void Add(uint id, in InFlightRing.Ending ending, in ResponseFrame response)
    {
        _ids[_count] = id;
        _answers[_count] = new Answer(ending, response);
        if (++_count == MaxAnswers) Deliver();
    }

    /// <summary>Ends the calls.</summary>
    public void Deliver()
    {
        if (_count == 0) return;
        ring.Free(_ids.AsSpan(0, _count));
        foreach (ref readonly Answer answer in _answers.AsSpan(0, _count))
            ring.Answer(answer.Ending, answer.Response);
        Array.Clear(_answers, 0, _count);
        _count = 0;
    }

    private readonly record struct Answer(InFlightRing.Ending Ending, ResponseFrame Response);
}
