namespace EQueue.Client;

/// <summary>Answers that were put aside, each at its place, until the membership by which they were fetched is sure
/// again.</summary>
/// <remarks>Used on the reader's thread alone. Answers of one session keep their order.</remarks>
internal sealed class WithheldAnswers
{
    private readonly List<WithheldAnswer> _answers = [];

    /// <summary>Whether one may be handed out now.</summary>
    public bool HasSure => _answers.Count > 0 && _answers.Exists(static held => !held.Answer.Session.IsInDoubt);

    /// <summary>Puts the answer aside that is being read.</summary>
    public void Add(WithheldAnswer held) =>

        // First in the list: it may just have been taken from there, and those of its session must keep their order.
        _answers.Insert(0, held);

    /// <summary>Puts an answer behind those of its session that are put aside: it must not overtake them.</summary>
    /// <returns>False if there are none.</returns>
    public bool TryQueueUp(FetchedAnswer answer)
    {
        foreach (WithheldAnswer held in _answers)
        {
            if (held.Answer.Session == answer.Session)
            {
                _answers.Add(new WithheldAnswer(answer, 0, null, default));
                return true;
            }
        }

        return false;
    }

    /// <summary>Takes an answer that may be handed out now.</summary>
    public bool TryTake(out WithheldAnswer held)
    {
        int index = _answers.FindIndex(static held => !held.Answer.Session.IsInDoubt);
        held = index < 0 ? default : _answers[index];
        if (index >= 0)
            _answers.RemoveAt(index);
        return index >= 0;
    }
}

/// <summary>An answer that waits for its membership.</summary>
/// <param name="Answer">What was fetched.</param>
/// <param name="QueueIndex">The next queue's place in it.</param>
/// <param name="Queue">The queue that was being read; null if it was not begun.</param>
/// <param name="Entries">What is left of its share.</param>
internal readonly record struct WithheldAnswer(
    FetchedAnswer Answer, int QueueIndex, FetchedQueue? Queue, ReadOnlyMemory<byte> Entries);
