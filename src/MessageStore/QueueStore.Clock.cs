namespace EQueue.MessageStore;

/// <content>The store's time, for what is stored and expires beside it.</content>
public sealed partial class QueueStore
{
    /// <summary>What is stored now is stamped with this time (Unix ms): the wall clock, as far as it can be
    /// believed.</summary>
    public long NowMs => _clock.NowMs();

    /// <summary>What ages are counted from (Unix ms): never ahead of <see cref="NowMs"/> or of the wall
    /// clock.</summary>
    public long ExpiryNowMs => _clock.ExpiryNowMs();

    /// <summary>Whether something may go for its age now: not for an hour after the wall clock was set by more than a
    /// minute, or after a start that came longer than a day or the age after the log was last used.</summary>
    /// <param name="age">What is older goes.</param>
    public bool MayExpire(TimeSpan age) => _clock.MayExpire(age);
}
