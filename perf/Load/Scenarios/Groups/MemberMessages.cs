using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>What the members of one process are to be.</summary>
/// <param name="Group">Their group.</param>
/// <param name="Members">That are there from the beginning and stay.</param>
/// <param name="SlotCount">As the producers have it.</param>
/// <param name="Faults">What the first member does wrong.</param>
internal sealed record MembersOrder(
    string Server,
    string Group,
    string Topic,
    int Queues,
    int Members,
    int Producers,
    int Size,
    int Seed,
    uint Run,
    int SlotCount,
    int SessionTimeoutMs,
    Faults Faults);

/// <summary>How the last member comes or goes.</summary>
internal enum MemberChange
{
    /// <summary>One more joins.</summary>
    Join,

    /// <summary>It leaves in order.</summary>
    Leave,

    /// <summary>Its connections are cut, and it does nothing more.</summary>
    Kill,
}

/// <summary>A change that has begun.</summary>
/// <param name="StartNs">When, on <see cref="Clock"/>.</param>
internal sealed record MemberChanged(long StartNs);

/// <summary>Who has which queue, as the members that are there see it.</summary>
/// <param name="Members">How many there are.</param>
internal sealed record MembersState(int Members, IReadOnlyList<HeldQueue> Queues);

/// <summary>A queue of a member that is there.</summary>
/// <param name="GivenNs">When the member heard that it is its own, on <see cref="Clock"/>.</param>
/// <param name="ConsumedNs">When it processed the first message since then; 0 = none yet.</param>
internal sealed record HeldQueue(int Queue, int Member, long GivenNs, long ConsumedNs);
