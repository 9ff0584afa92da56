using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Every byte that the broker keeps for peers, pool by pool.</summary>
/// <remarks>
/// Made before the broker serves; thread-safe. docs/operating.md says what each pool holds and what happens at its
/// bound. What is kept for a peer and grows with what it sends belongs to one of them.
/// </remarks>
internal sealed class MemoryLedger
{
    private RemotingServer? _server;

    public MemoryLedger(LimitOptions limits, QueueStore store, StoredGroups groups)
    {
        Receive = new MemoryPool(
            "receive", "Limits:ReceiveBytes", limits.ReceiveBytes, () => _server?.ReceiveBytes ?? 0);
        Send = new MemoryPool("send", "Limits:MemoryBytes", limits.MemoryBytes, () => _server?.SendBytes ?? 0);
        Parked = new MemoryPool("parked", "Limits:ParkedBytes", limits.ParkedBytes);
        Requests = new MemoryPool("requests", "Limits:RequestBytes", limits.RequestBytes);
        Admin = new MemoryPool("admin", "Limits:AdminBytes", limits.AdminBytes);
        Sessions = new MemoryPool("sessions", "Limits:FetchSessionBytes", limits.FetchSessionBytes);
        Members = new MemoryPool("members", "Limits:MemberBytes", limits.MemberBytes);
        Progress = new MemoryPool(
            "progress", "Limits:ProgressBytes", limits.ProgressBytes, () => groups.Use.Bytes);
        Producers = new MemoryPool(
            "producers", "Limits:ProducerBytes", limits.ProducerBytes, () => store.ProducerBytes);
        Security = new MemoryPool("security", "Limits:SecurityBytes", limits.SecurityBytes);
        Tail = new MemoryPool(
            "tail", "Store:TailMemoryBytes", store.TailMemoryBytes, () => store.TailMemoryBytes);
    }

    /// <summary>Requests that are being received.</summary>
    public MemoryPool Receive { get; }

    /// <summary>Answers that are being written, and those that their peers have not taken.</summary>
    public MemoryPool Send { get; }

    /// <summary>Batches that wait for room in a backlog.</summary>
    public MemoryPool Parked { get; }

    /// <summary>Long requests that are being handled, read into objects.</summary>
    public MemoryPool Requests { get; }

    /// <summary>Requests over HTTP that are being answered.</summary>
    public MemoryPool Admin { get; }

    /// <summary>Fetch sessions with their queues.</summary>
    public MemoryPool Sessions { get; }

    /// <summary>Members of groups with their subscriptions, and the queues that their groups read.</summary>
    public MemoryPool Members { get; }

    /// <summary>What groups have committed, with its metadata. It outlives the process.</summary>
    public MemoryPool Progress { get; }

    /// <summary>Producers, with what they sent last to each queue. It outlives the process.</summary>
    public MemoryPool Producers { get; }

    /// <summary>Users, tokens and rules. They outlive the process.</summary>
    public MemoryPool Security { get; }

    /// <summary>The newest messages.</summary>
    public MemoryPool Tail { get; }

    public IReadOnlyList<MemoryPool> Pools =>
        [Receive, Send, Parked, Requests, Admin, Sessions, Members, Progress, Producers, Security, Tail];

    /// <summary>Names what counts for itself.</summary>
    public void Include(RemotingServer server) => _server = server;
}
