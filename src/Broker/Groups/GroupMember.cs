using System.Text;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A member of a group, which is its session. Guarded by the group's gate.</summary>
internal sealed class GroupMember
{
    private readonly TimeSpan _grace;

    public GroupMember(Guid id, string? instanceId, Guid brokerId, TimeSpan grace)
    {
        Id = id;
        InstanceId = instanceId;
        Rank = RankOf(instanceId ?? id.ToString("N"), brokerId);
        _grace = grace;
    }

    public Guid Id { get; }

    /// <summary>A name that outlives the process: the member is static; null = it is not.</summary>
    public string? InstanceId { get; }

    /// <summary>Breaks ties in assignments: another at each broker, and outlives a static member's process.</summary>
    public ulong Rank { get; }

    /// <summary>Where the last call came from; null = away.</summary>
    public object? Connection { get; set; }

    /// <summary>Who joined as it: others do not speak for it.</summary>
    public string Principal { get; set; } = "";

    /// <summary>How messages for people name the client.</summary>
    public string Client { get; set; } = "";

    public TimeSpan SessionTimeout { get; set; }

    public TimeSpan ReleaseTimeout { get; set; }

    /// <summary>What it takes in memory beside what it shares with its group.</summary>
    public long Bytes { get; set; }

    /// <summary>Tags by topic, sorted and distinct.</summary>
    public IReadOnlyDictionary<string, string[]> Subscriptions { get; set; } = new Dictionary<string, string[]>();

    /// <summary>Of the last call.</summary>
    public uint Sequence { get; set; }

    /// <summary>Of the list it was told last.</summary>
    public GroupGeneration Told { get; set; } = GroupGeneration.Join;

    /// <summary>Queues it was told to wait for.</summary>
    public int ToldPending { get; set; }

    /// <summary>Of the last list that it has applied.</summary>
    public GroupGeneration Seen { get; set; } = GroupGeneration.Join;

    /// <summary>Whether its list is not the one it was told.</summary>
    public bool IsListChanged { get; set; } = true;

    /// <summary>Queues it shall have and has not yet.</summary>
    public int Pending { get; set; }

    /// <summary>When it called or committed last.</summary>
    public TimeSpan LastCall { get; set; }

    /// <summary>When it lost its connection; null = it has one, or left it in order.</summary>
    public TimeSpan? CutOff { get; set; }

    /// <summary>Since when it owes a release; null = it owes none.</summary>
    public TimeSpan? OwesSince { get; set; }

    /// <summary>The call that waits for news; null = none.</summary>
    public HeartbeatCall? Parked { get; set; }

    public TimeSpan ParkedUntil { get; set; }

    public bool IsStatic => InstanceId is not null;

    /// <summary>How long it stays without a connection; infinite for a static member: its session says.</summary>
    public TimeSpan ReconnectGrace =>
        IsStatic ? Timeout.InfiniteTimeSpan : _grace < SessionTimeout ? _grace : SessionTimeout;

    /// <summary>Whether it must be told something before it asks.</summary>
    public bool HasNews => IsListChanged || (Pending == 0) != (ToldPending == 0);

    /// <summary>Whether and why its session is over.</summary>
    public SessionEnd? FindEnd(TimeSpan now)
    {
        if (now >= LastCall + SessionTimeout)
            return SessionEnd.Silent;
        if (CutOff is { } cut && !IsStatic && now >= cut + ReconnectGrace)
            return SessionEnd.Disconnected;
        return OwesSince is { } owes && now >= owes + ReleaseTimeout ? SessionEnd.NotReleased : null;
    }

    /// <summary>When to look at it again, if nothing else happens.</summary>
    public TimeSpan NextDue()
    {
        TimeSpan due = LastCall + SessionTimeout;
        if (CutOff is { } cut && !IsStatic && cut + ReconnectGrace < due)
            due = cut + ReconnectGrace;
        if (OwesSince is { } owes && owes + ReleaseTimeout < due)
            due = owes + ReleaseTimeout;
        return Parked is not null && ParkedUntil < due ? ParkedUntil : due;
    }

    private static ulong RankOf(string identity, Guid brokerId)
    {
        byte[] bytes = [.. Encoding.UTF8.GetBytes(identity), .. brokerId.ToByteArray()];
        byte[] other = [.. bytes, 1];
        return ((ulong)(uint)Murmur2.Hash(bytes) << 32) | (uint)Murmur2.Hash(other);
    }
}

/// <summary>Why a session is over.</summary>
internal enum SessionEnd
{
    /// <summary>The member left.</summary>
    Left,

    /// <summary>It joined anew under the same id.</summary>
    Rejoined,

    /// <summary>Another one joined under its instance id.</summary>
    Replaced,

    /// <summary>No call for its session timeout.</summary>
    Silent,

    /// <summary>No connection for the reconnect grace.</summary>
    Disconnected,

    /// <summary>It owed a release for its release timeout.</summary>
    NotReleased,
}
