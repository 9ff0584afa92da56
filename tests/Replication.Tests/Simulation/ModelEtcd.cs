using System.Collections.Immutable;

namespace EQueue.Replication.Tests.Simulation;

/// <summary>
/// etcd as bad as 3.4.23 under faults: requests that come late or never, answers that are lost, reads that are out of
/// date, a member that is gone for a while, a backup that is restored. Transactions are atomic and in order.
/// </summary>
internal sealed class ModelEtcd(World world)
{
    private readonly List<ShardView> _views =
        [new ShardView(0, null, ImmutableDictionary<int, Nonce>.Empty, ImmutableDictionary<string, Life>.Empty)];

    private long _revision = 1;

    /// <summary>Whether nothing gets through.</summary>
    public bool IsAway { get; set; }

    /// <summary>Whether requests and answers are late and lost, and reads out of date.</summary>
    public bool IsBad { get; set; }

    /// <summary>Loses the answer to the next transaction that succeeds, once.</summary>
    public bool LosesNextAnswer { get; set; }

    public ShardView Now => _views[^1];

    public int Revisions => _views.Count;

    /// <summary>Makes the shard: its first seat is the directory that exists.</summary>
    public void Create(Seat first)
        => Put(new ShardState(0, default, [first], 1, default), Now.History);

    /// <summary>Everything written since is gone, and the revisions are given again.</summary>
    public void RestoreTo(int index)
    {
        _views.RemoveRange(index + 1, _views.Count - index - 1);
        _revision = Math.Max(_views[^1].Revision, 1);
    }

    public void Read(Action<ShardView> done)
    {
        if (!Arrives(out int delay))
            return;
        world.After(delay, () =>
        {
            if (IsAway)
                return;
            int back = IsBad && world.Random.Next(10) == 0 ? world.Random.Next(4) : 0;
            ShardView view = _views[Math.Max(0, _views.Count - 1 - back)];
            if (Arrives(out int answer))
                world.After(answer, () => done(view));
        });
    }

    public void PutLife(string node, Life life)
    {
        if (!Arrives(out int delay))
            return;
        world.After(delay, () =>
        {
            var lives = (ImmutableDictionary<string, Life>)Now.Lives;
            _views.Add(Now with { Lives = lives.SetItem(node, life) });
        });
    }

    public void Transact(Transaction transaction, Action<TransactionResult> done)
    {
        if (!Arrives(out int delay))
            return;
        // A late request succeeds long after its sender has given it up.
        if (IsBad && world.Random.Next(10) == 0)
            delay += world.Random.Next(400);
        world.After(delay, () =>
        {
            if (IsAway)
                return;
            TransactionOutcome outcome = TryApply(transaction);
            ShardView view = Now;
            if (outcome == TransactionOutcome.Succeeded && LosesNextAnswer)
            {
                LosesNextAnswer = false;
                return;
            }

            if (Arrives(out int answer))
                world.After(answer, () => done(new TransactionResult(outcome, view)));
        });
    }

    private TransactionOutcome TryApply(Transaction transaction)
    {
        ShardView now = Now;
        EpochMark acted = transaction.Acted;
        bool fits = now.Revision == transaction.ExpectedRevision
            && Equals(now.State, transaction.Expected)
            && now.Lives.TryGetValue(transaction.Author.Node, out Life life) && life == transaction.Author.Life
            && (acted.Epoch == 0 || (now.History.TryGetValue(acted.Epoch, out Nonce nonce) && nonce == acted.Nonce));
        if (!fits)
            return TransactionOutcome.Refused;
        var history = (ImmutableDictionary<int, Nonce>)now.History;
        if (transaction.IsNewEpoch)
            history = history.SetItem(transaction.Next.Epoch, transaction.Next.Nonce);
        Put(transaction.Next, history);
        return TransactionOutcome.Succeeded;
    }

    private void Put(ShardState state, IReadOnlyDictionary<int, Nonce> history)
    {
        _revision++;
        _views.Add(Now with { Revision = _revision, State = state, History = history });
    }

    private bool Arrives(out int delay)
    {
        delay = 1 + world.Random.Next(IsBad ? 12 : 3);
        return !IsAway && !(IsBad && world.Random.Next(12) == 0);
    }
}
