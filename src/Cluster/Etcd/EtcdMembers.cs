using Microsoft.Extensions.Logging;

namespace EQueue.Cluster.Etcd;

/// <summary>In which order the members are asked: the one that answered last, then the others as they were given,
/// then those that have failed within the last seconds.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class EtcdMembers(IReadOnlyList<Uri> addresses, TimeProvider time, ILogger logger)
{
    /// <summary>For so long a member that failed is asked last.</summary>
    public static readonly TimeSpan SetBack = TimeSpan.FromSeconds(5);

    private readonly Lock _gate = new();
    private readonly EtcdMember[] _members = [.. addresses.Select(address => new EtcdMember(address))];
    private EtcdMember? _last;

    /// <summary>All members, each once.</summary>
    public EtcdMember[] InOrder()
    {
        lock (_gate)
        {
            long now = time.GetTimestamp();
            // A stable sort: those of one place keep the order in which they were given.
            return [.. _members.OrderBy(member => PlaceOf(member, now))];
        }
    }

    /// <summary>A member has answered.</summary>
    public void NoteAnswer(EtcdMember member)
    {
        bool wasFailing;
        lock (_gate)
        {
            wasFailing = member.FailedAt is not null;
            member.FailedAt = null;
            _last = member;
        }

        if (wasFailing)
            logger.EtcdMemberAnswers(member.Address);
    }

    /// <summary>A member gave no answer, or none that can be used.</summary>
    public void NoteFailure(EtcdMember member, EtcdException why)
    {
        bool wasFailing;
        lock (_gate)
        {
            wasFailing = member.FailedAt is not null;
            member.FailedAt = time.GetTimestamp();
        }

        if (wasFailing)
            return;
        string next = _members.Length > 1 ? "The others are asked first" : "It is asked again and again";
        logger.EtcdMemberFails(member.Address, why.Message, next);
    }

    private int PlaceOf(EtcdMember member, long now)
    {
        if (member.FailedAt is { } at && time.GetElapsedTime(at, now) < SetBack)
            return 2;
        return member == _last ? 0 : 1;
    }
}

/// <summary>A member of etcd.</summary>
internal sealed class EtcdMember(Uri address)
{
    public Uri Address { get; } = address;

    /// <summary>When it failed last; null when it has answered since. Owned by <see cref="EtcdMembers"/>.</summary>
    public long? FailedAt { get; set; }
}
