namespace EQueue.Broker;

/// <summary>Who shall have which queue: even and sticky (docs/consumer-groups.md, section 3). Pure.</summary>
/// <remarks>Members are numbers 0 to n-1; -1 is none.</remarks>
internal static class QueueAssigner
{
    /// <summary>Gives every queue of every topic that has subscribers to one of them.</summary>
    /// <param name="topics">In the order in which they are shared out; the same whenever the same is asked.</param>
    /// <param name="ranks">Of the members: breaks ties, distinct.</param>
    /// <returns>By topic, by queue: who shall have it.</returns>
    public static int[][] Assign(IReadOnlyList<AssignableTopic> topics, IReadOnlyList<ulong> ranks)
    {
        int[] load = new int[ranks.Count];
        int[][] targets = new int[topics.Count][];
        int[] quotas = new int[ranks.Count];
        int[] counts = new int[ranks.Count];
        for (int t = 0; t < targets.Length; t++)
            targets[t] = Share(topics[t], ranks, load, quotas, counts);
        new Evening(topics, ranks, load, targets).Run();
        return targets;
    }

    /// <summary>Shares out one topic: every member within 1, no member gives up what fits.</summary>
    private static int[] Share(
        AssignableTopic topic, IReadOnlyList<ulong> ranks, int[] load, int[] quotas, int[] counts)
    {
        int[] target = new int[topic.Had.Length];
        Array.Fill(target, -1);
        int[] readers = [.. topic.Subscribers];
        if (readers.Length == 0)
            return target;
        foreach (int member in readers)
            counts[member] = 0;
        bool[] isReader = new bool[ranks.Count];
        foreach (int member in readers)
            isReader[member] = true;
        foreach (int had in topic.Had)
        {
            if (had >= 0 && isReader[had])
                counts[had]++;
        }

        Array.Sort(readers, (a, b) =>
            counts[a] != counts[b] ? counts[b].CompareTo(counts[a])
            : load[a] != load[b] ? load[a].CompareTo(load[b])
            : ranks[a].CompareTo(ranks[b]));
        (int low, int extra) = Math.DivRem(target.Length, readers.Length);
        for (int i = 0; i < readers.Length; i++)
            quotas[readers[i]] = i < extra ? low + 1 : low;
        foreach (int member in readers)
            load[member] += quotas[member];
        for (int queue = 0; queue < target.Length; queue++)
        {
            int had = topic.Had[queue];
            if (had >= 0 && isReader[had] && quotas[had] > 0)
            {
                target[queue] = had;
                quotas[had]--;
            }
        }

        Array.Sort(readers, (a, b) =>
            load[a] != load[b] ? load[a].CompareTo(load[b]) : ranks[a].CompareTo(ranks[b]));
        int next = 0;
        for (int queue = 0; queue < target.Length; queue++)
        {
            if (target[queue] >= 0)
                continue;
            while (quotas[readers[next]] == 0)
                next++;
            target[queue] = readers[next];
            quotas[readers[next]]--;
        }

        return target;
    }

    /// <summary>Evens the totals: odd queues go from those with most to those with least of their topics.</summary>
    private sealed class Evening
    {
        private readonly IReadOnlyList<AssignableTopic> _topics;
        private readonly IReadOnlyList<ulong> _ranks;
        private readonly int[] _load;
        private readonly int[][] _targets;
        private readonly bool[][] _hasOdd;

        public Evening(
            IReadOnlyList<AssignableTopic> topics, IReadOnlyList<ulong> ranks, int[] load, int[][] targets)
        {
            _topics = topics;
            _ranks = ranks;
            _load = load;
            _targets = targets;
            _hasOdd = new bool[topics.Count][];
            int[] counts = new int[ranks.Count];
            for (int t = 0; t < targets.Length; t++)
            {
                int[] readers = topics[t].Subscribers;
                _hasOdd[t] = new bool[readers.Length];
                if (readers.Length == 0 || targets[t].Length % readers.Length == 0)
                    continue;
                Array.Clear(counts);
                foreach (int member in targets[t])
                    counts[member]++;
                int low = targets[t].Length / readers.Length;
                for (int i = 0; i < readers.Length; i++)
                    _hasOdd[t][i] = counts[readers[i]] > low;
            }
        }

        public void Run()
        {
            while (FindWidest() is { } move)
            {
                int from = _topics[move.Topic].Subscribers[move.From];
                int to = _topics[move.Topic].Subscribers[move.To];
                int[] target = _targets[move.Topic];
                int[] owners = _topics[move.Topic].Owners;
                int queue = Array.FindLastIndex(target, member => member == from);
                for (int i = target.Length - 1; i >= 0; i--)
                {
                    if (target[i] == from && owners[i] != from)
                    {
                        queue = i;
                        break;
                    }
                }

                target[queue] = to;
                _hasOdd[move.Topic][move.From] = false;
                _hasOdd[move.Topic][move.To] = true;
                _load[from]--;
                _load[to]++;
            }
        }

        private (int Topic, int From, int To)? FindWidest()
        {
            (int Topic, int From, int To)? widest = null;
            int widestGap = 1;
            for (int t = 0; t < _targets.Length; t++)
            {
                int[] readers = _topics[t].Subscribers;
                if (readers.Length == 0 || _targets[t].Length % readers.Length == 0)
                    continue;
                int most = -1;
                int least = -1;
                for (int i = 0; i < readers.Length; i++)
                {
                    if (_hasOdd[t][i])
                        most = most < 0 || IsHeavier(readers[i], readers[most]) ? i : most;
                    else
                        least = least < 0 || IsHeavier(readers[least], readers[i]) ? i : least;
                }

                int gap = _load[readers[most]] - _load[readers[least]];
                if (gap > widestGap)
                    (widest, widestGap) = ((t, most, least), gap);
            }

            return widest;
        }

        private bool IsHeavier(int a, int b) =>
            _load[a] != _load[b] ? _load[a] > _load[b] : _ranks[a] > _ranks[b];
    }
}

/// <summary>A topic to be shared out.</summary>
/// <param name="Subscribers">Members that read it, distinct.</param>
/// <param name="Had">By queue: who was to have it.</param>
/// <param name="Owners">By queue: who has it.</param>
internal sealed record AssignableTopic(int[] Subscribers, int[] Had, int[] Owners);
