using System.Security.Cryptography;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>One cluster as a client knows it: its nodes, and which of them leads.</summary>
/// <remarks>Thread-safe; one for all links of a client. Links are moved outside of the gate.</remarks>
/// <param name="address">What the client calls it: the first of its given addresses.</param>
/// <param name="options">The client's.</param>
internal sealed class Cluster(ServerAddress address, ClientOptions options)
{
    /// <summary>How long a node of which nothing is known may take to answer, at first.</summary>
    private static readonly TimeSpan FirstPatience = TimeSpan.FromSeconds(1);

    /// <summary>How long an address is left out that nodes name and that could not be reached.</summary>
    private static readonly TimeSpan Avoidance = TimeSpan.FromSeconds(30);

    private const int FirstPauseMs = 50;
    private const int LongestPauseMs = 500;
    private const int LongestSilentPauseMs = 1_000;

    private readonly Lock _gate = new();
    private readonly ILogger _logger = options.LoggerFactory.CreateLogger("EQueue.Client");
    private readonly List<ClusterNode> _nodes = [];
    private readonly HashSet<LinkPlan> _links = [];
    private ServerAddress? _leader;
    private (ServerAddress Node, int Epoch) _followed;
    private Guid _storeId;
    private int _epoch;
    private int _version;
    private volatile bool _hasNodes;

    public ServerAddress Address => address;

    /// <summary>Whether a node has told all nodes.</summary>
    public bool HasNodes => _hasNodes;

    /// <summary>The highest epoch that is known.</summary>
    public int Epoch => Volatile.Read(ref _epoch);

    /// <summary>Takes an address into the nodes.</summary>
    /// <param name="node">Where it listens.</param>
    /// <param name="isGiven">Whether the application gave it: an address that nodes alone name may lead nowhere from
    /// here.</param>
    public void AddNode(ServerAddress node, bool isGiven)
    {
        lock (_gate)
        {
            if (Find(node) is null)
                _nodes.Insert(isGiven ? _nodes.Count(static one => one.IsGiven) : _nodes.Count, new(node, isGiven));
        }
    }

    public void Add(LinkPlan link)
    {
        lock (_gate)
        {
            _links.Add(link);
            // At its own address, which may be the leader's.
            link.Round.IsTrying = !link.IsServed;
        }
    }

    public void Remove(LinkPlan link)
    {
        lock (_gate)
            _links.Remove(link);
    }

    /// <summary>Takes what a node tells about who leads; links to an older leader are closed.</summary>
    /// <param name="told">What it tells.</param>
    /// <param name="leader">The leader in it; null = it knows none.</param>
    /// <param name="teller">The link that was told, which sees to itself; null = none.</param>
    public void Learn(WatchLeaderResponse told, ServerAddress? leader, LinkPlan? teller)
    {
        LinkPlan[] late;
        lock (_gate)
        {
            _hasNodes |= told.Nodes.Count > 0;
            bool isNews = told.Epoch > _epoch || (told.Epoch == _epoch && _leader is null && leader is not null);
            late = isNews ? Advance(told.Epoch, leader, teller) : [];
        }

        Move(late);
    }

    /// <summary>A node leads, as it says: it has answered a link's Hello.</summary>
    /// <exception cref="EQueueException">NotLeader: a newer epoch of the same store is known.</exception>
    public void Confirm(LinkPlan link, Guid storeId, int epoch)
    {
        LinkPlan[] late = [];
        ServerAddress node = link.Round.Target;
        bool isAnother;
        lock (_gate)
        {
            if ((storeId == _storeId || _storeId == Guid.Empty) && epoch < _epoch)
            {
                throw new EQueueException(
                    ErrorCode.NotLeader,
                    $"{node} leads epoch {epoch}, but epoch {_epoch} has begun: it leads no longer.");
            }

            if (storeId != _storeId || epoch != _epoch || _leader != node)
                late = Advance(epoch, node, link);
            _storeId = storeId;
            isAnother = _followed != (node, epoch);
            _followed = (node, epoch);
            Find(node)?.Reach("leads");
            link.Round.Epoch = Math.Max(epoch, 1);
            link.Round.Tried.Clear();
        }

        if (isAnother)
            Log.FollowsLeader(_logger, node, epoch);
        Move(late);
    }

    /// <summary>The node of a link's attempt does not lead, as it says.</summary>
    public void Refuse(LinkPlan link)
    {
        lock (_gate)
        {
            link.Round.HasHeard = link.Round.HasAnswered = true;
            Find(link.Round.Target)?.Reach("does not lead");
        }
    }

    /// <summary>Where a link's next attempt goes: to the leader, else to the next node that it has not tried.</summary>
    public ConnectTarget Next(LinkPlan link)
    {
        lock (_gate)
        {
            LinkRound round = link.Round;
            if (round.Version != _version)
            {
                round.Version = _version;
                round.Count = 0;
                round.Tried.Clear();
            }

            ClusterNode? node = FindUntried(round);
            if (node is null)
            {
                // Every address leads nowhere: those that are avoided have their turn.
                round.Tried.Clear();
                node = After(round.Target);
            }

            round.HasAnswered = false;
            round.Tried.Add(node.Address);
            round.Target = node.Address;
            round.Epoch = 0;
            round.IsTrying = true;
            return new ConnectTarget(node.Address.ToEndPoint(), PatienceFor(node, round.Count));
        }
    }

    /// <summary>The pause before a link's next attempt: none while there is a node to try.</summary>
    /// <param name="link">The link.</param>
    /// <param name="failures">0 = its last connection lived long.</param>
    public TimeSpan PauseAfter(LinkPlan link, int failures)
    {
        lock (_gate)
        {
            LinkRound round = link.Round;
            round.IsTrying = false;
            if (round.Epoch != 0)
            {
                // A leader that admits and then throws everybody out is not to be hammered.
                round.Epoch = 0;
                round.Tried.Clear();
                round.Count = failures == 0 ? 0 : round.Count + 1;
                round.HasHeard = true;
            }
            else if (FindUntried(round) is null)
            {
                round.Tried.Clear();
                round.Count++;
            }
            else
            {
                return TimeSpan.Zero;
            }

            TimeSpan pause = PauseOf(round);
            round.HasHeard = false;
            return pause;
        }
    }

    /// <summary>A link's attempt failed.</summary>
    /// <returns>What to tell people, when it was the last of a round; else null.</returns>
    public string? Fail(LinkPlan link, string reason)
    {
        lock (_gate)
        {
            LinkRound round = link.Round;
            round.IsTrying = false;
            if (Find(round.Target) is { } node)
            {
                node.Said = reason;
                node.IsAway = !round.HasAnswered;
                if (node is { IsGiven: false, WasReached: false })
                    node.AvoidedSince = options.TimeProvider.GetTimestamp();
            }

            return FindUntried(round) is null ? Describe() : null;
        }
    }

    /// <summary>That no node leads, or that the one that does cannot be reached, and what each said last.</summary>
    public string Describe()
    {
        lock (_gate)
        {
            string nodes = string.Join(", ", _nodes.Select(static node => node.Address));
            string said = string.Join(
                "; ", _nodes.Where(static node => node.Said is not null)
                    .Select(static node => $"{node.Address}: {node.Said}"));
            if (_leader is { } leader && Find(leader) is { IsAway: true })
            {
                return $"{leader} leads the cluster at {nodes}, as its nodes have told, and cannot be reached from "
                    + $"here: {said}";
            }

            return $"No node of the cluster at {nodes} leads now: {(said.Length > 0 ? said : "none has answered yet")}";
        }
    }

    /// <summary>The node to ask who leads, behind one that was asked: not the leader, if there is another.</summary>
    public ServerAddress NodeToWatch(ServerAddress last)
    {
        lock (_gate)
        {
            int first = IndexOf(last) + 1;
            IEnumerable<ClusterNode> others =
                Enumerable.Range(0, _nodes.Count).Select(i => _nodes[(first + i) % _nodes.Count]);
            return (others.FirstOrDefault(node => node.Address != _leader && !IsAvoided(node)) ?? After(last)).Address;
        }
    }

    /// <summary>Whether an address leads, though others could be asked.</summary>
    public bool IsWatchedAtLeader(ServerAddress node)
    {
        lock (_gate)
            return node == _leader && _nodes.Exists(one => one.Address != node && !IsAvoided(one));
    }

    private static void Move(LinkPlan[] links)
    {
        foreach (LinkPlan link in links)
            link.ConnectAnew(new EQueueException(ErrorCode.NotLeader, "The cluster has another leader."));
    }

    /// <summary>Notes another leader. Under the gate.</summary>
    /// <returns>The links that are to leave what they have begun.</returns>
    private LinkPlan[] Advance(int epoch, ServerAddress? leader, LinkPlan? teller)
    {
        Volatile.Write(ref _epoch, epoch);
        _leader = leader;
        _version++;
        return
        [
            .. _links.Where(link => link != teller && (link.Round.Epoch != 0
                ? link.Round.Epoch < epoch
                : leader is not null && !(link.Round.IsTrying && link.Round.Target == leader))),
        ];
    }

    /// <summary>The leader unless it was tried, else the next node that was not. Under the gate.</summary>
    private ClusterNode? FindUntried(LinkRound round)
    {
        if (_leader is { } leader && Find(leader) is { } known && IsOpen(known))
            return known;
        int first = IndexOf(round.Target) + 1;
        for (int i = 0; i < _nodes.Count; i++)
        {
            ClusterNode node = _nodes[(first + i) % _nodes.Count];
            if (IsOpen(node))
                return node;
        }

        return null;

        bool IsOpen(ClusterNode node) => !round.Tried.Contains(node.Address) && !IsAvoided(node);
    }

    private bool IsAvoided(ClusterNode node) =>
        node.AvoidedSince is { } since && options.TimeProvider.GetElapsedTime(since) < Avoidance;

    private ClusterNode After(ServerAddress node) => _nodes[(IndexOf(node) + 1) % _nodes.Count];

    private ClusterNode? Find(ServerAddress node) => _nodes.Find(one => one.Address == node);

    private int IndexOf(ServerAddress node) => _nodes.FindIndex(one => one.Address == node);

    /// <summary>The leader may take as long as a broker may. A node that may be a stopped process must not keep from
    /// those that know who leads.</summary>
    private TimeSpan PatienceFor(ClusterNode node, int rounds)
    {
        if (_nodes.Count == 1 || (node.Address == _leader && (node.IsGiven || node.WasReached)))
            return Timeout.InfiniteTimeSpan;
        TimeSpan patience = FirstPatience * (1 << Math.Min(rounds, 10));
        return patience < options.ConnectTimeout ? patience : options.ConnectTimeout;
    }

    /// <summary>Full jitter where the cluster says nothing, half where it has begun to answer.</summary>
    private static TimeSpan PauseOf(LinkRound round)
    {
        if (round.Count == 0)
            return TimeSpan.Zero;
        int longest = round.HasHeard ? LongestPauseMs : LongestSilentPauseMs;
        int bound = (int)Math.Min((long)FirstPauseMs << Math.Min(round.Count - 1, 20), longest);
        int least = round.HasHeard ? bound / 2 : 0;
        return TimeSpan.FromMilliseconds(RandomNumberGenerator.GetInt32(least, bound + 1));
    }
}
