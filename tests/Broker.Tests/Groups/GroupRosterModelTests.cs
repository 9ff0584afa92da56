using EQueue.Protocol;

namespace EQueue.Broker.Tests.Groups;

/// <summary>
/// Random joins, beats (lost, late, doubled answers), ends and topic changes: a queue has one owner, grants rise, no
/// queue is given while its last owner still holds it unheard, and all of it settles.
/// </summary>
public sealed class GroupRosterModelTests
{
    [Fact]
    public void GivenRandomLives_WhenTheyMeet_ThenThePromisesHold()
    {
        for (int seed = 0; seed < 150; seed++)
            new Life(seed).Run();
    }

    private sealed class Life
    {
        private readonly int _seed;
        private readonly Random _random;
        private readonly RosterDriver _driver;
        private readonly Dictionary<string, Mirror> _mirrors = [];
        private readonly Dictionary<QueueKey, GroupGeneration> _highest = [];
        private readonly HashSet<QueueKey> _committing = [];
        private uint _queues = 6;
        private int _born;

        public Life(int seed)
        {
            _seed = seed;
            _random = new Random(seed);
            _driver = new RosterDriver((int)_queues);
        }

        public void Run()
        {
            for (int step = 0; step < 200; step++)
            {
                Act();
                Check();
            }

            Calm();
        }

        private void Act()
        {
            switch (_random.Next(12))
            {
                case 0 or 1 when _mirrors.Count < 6:
                    string name = $"m{_born++}";
                    _mirrors[name] = new Mirror(_random.Next(3) == 0 ? $"i{_random.Next(3)}" : null);
                    Join(name);
                    break;
                case 2 when _mirrors.Count > 0:
                    string gone = Pick();
                    if (_driver.Member(gone) is not null)
                        _driver.Roster.Leave(_driver.Id(gone), _random.Next(2) == 0, _driver.Now);
                    _mirrors.Remove(gone);
                    _driver.Settle();
                    break;
                case 3:
                    _driver.Now += TimeSpan.FromSeconds(_random.Next(4));
                    _driver.Expire();
                    break;
                case 4 when _random.Next(4) == 0 && _queues < 12:
                    _queues++;
                    _driver.SetTopic("t", [.. Enumerable.Range(1, (int)_queues).Select(id => (uint)id)]);
                    break;
                case 5:
                    Commit();
                    break;
                case 6 when _committing.Count > 0:
                    QueueKey key = _committing.First();
                    _committing.Remove(key);
                    _driver.Roster.EndCommit(key);
                    _driver.Settle();
                    break;
                default:
                    if (_mirrors.Count > 0)
                        Beat(Pick(), isLost: _random.Next(4) == 0, isSlow: _random.Next(3) == 0);
                    break;
            }
        }

        private string Pick() => _mirrors.Keys.ElementAt(_random.Next(_mirrors.Count));

        private void Join(string name)
        {
            Mirror mirror = _mirrors[name];
            mirror.Held.Clear();
            Apply(mirror, _driver.Join(name, mirror.Instance), isSlow: false);
        }

        private void Beat(string name, bool isLost, bool isSlow)
        {
            Mirror mirror = _mirrors[name];
            GroupHeartbeatResponse? answer;
            try
            {
                answer = _driver.Beat(_driver.Request(name) with
                {
                    Generation = mirror.Seen,
                    InstanceId = mirror.Instance,
                    Subscriptions = null,
                    Owned = [.. mirror.Held],
                });
            }
            catch (EQueueException exception)
            {
                mirror.Held.Clear();
                if (exception.Code == ErrorCode.MemberReplaced)
                    _mirrors.Remove(name);
                else
                    Join(name);
                return;
            }

            if (answer is not null && !isLost)
                Apply(mirror, answer, isSlow);
        }

        /// <summary>
        /// What a client does with a list: drops what is not on it, at once or later, and takes up the rest.
        /// </summary>
        private static void Apply(Mirror mirror, GroupHeartbeatResponse answer, bool isSlow)
        {
            mirror.Seen = answer.Generation;
            if (answer.Assignment is null)
                return;
            if (!isSlow)
                mirror.Held.IntersectWith(answer.Queues());
            mirror.Held.RemoveWhere(held => answer.Queues().Any(
                one => one.Queue == held.Queue && one.Grant != held.Grant));
            mirror.Held.UnionWith(answer.Queues());
        }

        private void Commit()
        {
            RosterQueue? queue = _driver.Roster.Queues.FirstOrDefault(
                one => one.Owner is not null && !_committing.Contains(one.Key));
            if (queue is null)
                return;
            Assert.Equal(ErrorCode.None, _driver.Roster.CheckCommit(queue.Owner!, queue.Key, queue.Grant));
            _driver.Roster.BeginCommit(queue.Key);
            _committing.Add(queue.Key);
        }

        private void Check()
        {
            foreach (RosterQueue queue in _driver.Roster.Queues)
            {
                Assert.True(queue.Owner is null || _driver.Roster.Find(queue.Owner.Id) == queue.Owner, Say("lives"));
                GroupGeneration highest = _highest.GetValueOrDefault(queue.Key);
                Assert.True(queue.Grant >= highest || queue.Grant == GroupGeneration.None, Say("rises"));
                Assert.False(queue.Grant > highest && _committing.Contains(queue.Key), Say("no commit under way"));
                _highest[queue.Key] = queue.Grant > highest ? queue.Grant : highest;
            }

            // Whatever a member with a session holds is its own at the broker too, under that grant.
            foreach ((string name, Mirror mirror) in _mirrors)
            {
                if (_driver.Member(name) is not { } member)
                    continue;
                foreach (OwnedQueue held in mirror.Held)
                {
                    Assert.True(
                        _driver.Roster.CheckCommit(member, held.Queue, held.Grant) == ErrorCode.None,
                        Say($"{name} holds {held}"));
                }
            }
        }

        /// <summary>Nothing happens any more but beats: everything comes to rest where it shall be, evenly.</summary>
        private void Calm()
        {
            foreach (QueueKey key in _committing)
                _driver.Roster.EndCommit(key);
            _committing.Clear();
            for (int i = 0; i < 40; i++)
            {
                _driver.Now += TimeSpan.FromSeconds(1);
                _driver.Expire();
                foreach (string name in _mirrors.Keys.ToArray())
                    Beat(name, isLost: false, isSlow: false);
            }

            if (_driver.Roster.Members.Count == 0)
                return;
            Assert.True(_driver.Roster.State == GroupState.Stable, Say("settles"));
            int[] counts =
            [
                .. _driver.Roster.Members.Select(m => _driver.Roster.Queues.Count(queue => queue.Owner == m)),
            ];
            Assert.True(counts.Max() - counts.Min() <= 1 && counts.Sum() == _queues, Say(string.Join(" ", counts)));
            foreach ((string name, Mirror mirror) in _mirrors)
            {
                Assert.Equal(
                    _driver.Roster.Queues.Where(queue => queue.Owner == _driver.Member(name))
                        .Select(queue => new OwnedQueue(queue.Key, queue.Grant)).ToHashSet(),
                    mirror.Held);
            }
        }

        private string Say(string what) => $"Seed {_seed}: {what}";
    }

    private sealed class Mirror(string? instance)
    {
        public string? Instance { get; } = instance;

        public GroupGeneration Seen { get; set; }

        public HashSet<OwnedQueue> Held { get; } = [];
    }
}
