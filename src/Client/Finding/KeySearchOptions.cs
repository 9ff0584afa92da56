namespace EQueue.Client;

/// <summary>Where a look-up by key looks, and how much it gives.</summary>
public sealed record KeySearchOptions
{
    /// <summary>Messages to give at most, the oldest first; 1 to 10,000. Default: 100.</summary>
    public int Limit { get; init; } = 100;

    /// <summary>The queue's number in the topic; null = the one that producers choose for the key now.
    /// Default: null.</summary>
    public int? Queue { get; init; }

    /// <summary>Looks in every queue: a key's messages are in more than one when queues were added, or when senders
    /// chose otherwise. Not together with <see cref="Queue"/>. Default: false.</summary>
    public bool AllQueues { get; init; }

    /// <summary>Only messages stored then or later; null = from the first on. Default: null.</summary>
    public DateTimeOffset? Since { get; init; }

    /// <summary>Only messages stored before; null = up to the end at the time of the call. Default: null.</summary>
    public DateTimeOffset? Until { get; init; }

    /// <summary>Checks every value.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range; the message names it.</exception>
    public void Validate()
    {
        Option.Require(Limit is >= 1 and <= FoundMessages.MaxCount, nameof(Limit), Limit, FoundMessages.CountRange);
        Option.Require(!AllQueues || Queue is null, nameof(AllQueues), AllQueues, "off when Queue is set");
    }
}
