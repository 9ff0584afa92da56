using EQueue.Cluster.Etcd;
using EQueue.Replication;

namespace EQueue.Cluster.Tests.Etcd;

public sealed class ShardTransactionTests(EtcdServer server) : IClassFixture<EtcdServer>
{
    private const int UnknownId = 7002;

    private static CancellationToken None => Shard.None;

    [Fact]
    public async Task GivenAClaim_WhenItIsMade_ThenItsAnswerShowsTheStateAndTheHistoryAsItLeftThem()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();

        TransactionResult result = await shard.A.TransactAsync(claim, None);

        Assert.Equal(TransactionOutcome.Succeeded, result.Outcome);
        Assert.Equal(claim.Next, result.View!.State);
        Assert.InRange(result.View.Revision, claim.ExpectedRevision + 1, long.MaxValue);
        Assert.Equal(claim.Next.Nonce, Assert.Single(result.View.History).Value);
        Assert.Equal(shard.SeatA.Life, result.View.Lives["a"]);
        Assert.Equivalent(await shard.ReadAsync(), result.View);
    }

    [Fact]
    public async Task GivenAChangeOfTheSet_WhenItIsMade_ThenTheEpochAndTheHistoryStay()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        ShardView before = await shard.NextEpochAsync();
        ShardState next = before.State!.With([shard.SeatA, Shard.NewSeat("b")]);
        var change = new Transaction(
            TransactionKind.SetChange, before.Revision, before.State, shard.SeatA,
            new EpochMark(1, before.State.Nonce), next);

        TransactionResult result = await shard.A.TransactAsync(change, None);

        Assert.Equal(TransactionOutcome.Succeeded, result.Outcome);
        Assert.Equal(next, result.View!.State);
        Assert.Equal(2, result.View.State!.Min);
        Assert.Equivalent(before.History, result.View.History);
    }

    [Fact]
    public async Task GivenAnotherRevision_WhenItIsClaimed_ThenTheClaimIsRefusedWithWhatIsThere()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();
        // The same value once more: the revision alone is another one.
        await shard.PutAsync(shard.Keys.State, await shard.ValueAsync(shard.Keys.State));

        TransactionResult result = await shard.A.TransactAsync(claim, None);

        Assert.Equal(TransactionOutcome.Refused, result.Outcome);
        Assert.Equal(claim.Expected, result.View!.State);
        Assert.InRange(result.View.Revision, claim.ExpectedRevision + 1, long.MaxValue);
        Assert.Equivalent(await shard.ReadAsync(), result.View);
    }

    [Fact]
    public async Task GivenAnotherValueUnderTheRevision_WhenItIsClaimed_ThenTheClaimIsRefused()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();
        Transaction other = claim with { Expected = claim.Expected! with { Min = 1, Nonce = Shard.NewNonce() } };

        TransactionResult result = await shard.A.TransactAsync(other, None);

        Assert.Equal(TransactionOutcome.Refused, result.Outcome);
        Assert.Equal(claim.Expected, result.View!.State);
    }

    [Fact]
    public async Task GivenNoState_WhenAClaimExpectsOne_ThenItIsRefused()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();
        await shard.DeleteAsync(EtcdKeys.One(shard.Keys.State));

        TransactionResult result = await shard.A.TransactAsync(claim, None);

        Assert.Equal(TransactionOutcome.Refused, result.Outcome);
        Assert.Null(result.View!.State);
        Assert.Equal(0, result.View.Revision);
    }

    [Fact]
    public async Task GivenAState_WhenATransactionExpectsNone_ThenItIsRefused()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();

        TransactionResult result = await shard.A.TransactAsync(
            claim with { Expected = null, ExpectedRevision = 0 }, None);

        Assert.Equal(TransactionOutcome.Refused, result.Outcome);
        Assert.Equal(claim.Expected, result.View!.State);
    }

    [Fact]
    public async Task GivenAnotherLifeInEtcd_WhenAClaimIsMade_ThenNothingChangesAndItsOutcomeStaysOpenUntilTheLifeIsBack()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();
        byte[] mine = await shard.ValueAsync(shard.Keys.Node("a"));
        await shard.PutAsync(shard.Keys.Node("a"), ShardRecords.Write(Shard.NewSeat("a").Life, "127.0.0.1:9490"));

        TransactionResult first = await shard.A.TransactAsync(claim, None);
        TransactionResult again = await shard.A.TransactAsync(claim, None);

        // An attempt that is under way could still succeed, as the third one does: nothing was decided.
        Assert.Equal((TransactionOutcome.Unknown, null), (first.Outcome, first.View));
        Assert.Equal(TransactionOutcome.Unknown, again.Outcome);
        Assert.Equal(claim.Expected, (await shard.ReadAsync()).State);
        Assert.Contains("another life of a", Assert.Single(shard.Log.Lines, line => line.Id == UnknownId).Text);
        await shard.PutAsync(shard.Keys.Node("a"), mine);
        Assert.Equal(TransactionOutcome.Succeeded, (await shard.A.TransactAsync(claim, None)).Outcome);
    }

    [Fact]
    public async Task GivenAnotherHistory_WhenAClaimIsMade_ThenNothingChangesAndItsOutcomeStaysOpen()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        await shard.NextEpochAsync();
        Transaction claim = await shard.ClaimAsync();
        byte[] known = await shard.ValueAsync(shard.Keys.History(1));
        await shard.PutAsync(shard.Keys.History(1), ShardRecords.Write(Shard.NewNonce()));

        TransactionResult other = await shard.A.TransactAsync(claim, None);
        await shard.DeleteAsync(EtcdKeys.One(shard.Keys.History(1)));
        TransactionResult none = await shard.A.TransactAsync(claim, None);

        Assert.Equal(TransactionOutcome.Unknown, other.Outcome);
        Assert.Equal(TransactionOutcome.Unknown, none.Outcome);
        Assert.Equal(claim.Expected, (await shard.ReadAsync()).State);
        Assert.Contains("epoch 1", Assert.Single(shard.Log.Lines, line => line.Id == UnknownId).Text);
        await shard.PutAsync(shard.Keys.History(1), known);
        Assert.Equal(TransactionOutcome.Succeeded, (await shard.A.TransactAsync(claim, None)).Outcome);
    }

    [Fact]
    public async Task GivenAnAnswerThatIsLost_WhenTheClaimIsRepeated_ThenTheRefusalShowsThatItHadHappened()
    {
        await using var proxy = new AnswerProxy(server.Process.Address);
        await using EtcdClient etcd = EtcdServer.ClientOf(EtcdServer.OptionsFor(proxy.Uri));
        Shard shard = await Shard.BeginAsync(etcd);
        Transaction claim = await shard.ClaimAsync();
        Task swallowed = proxy.Swallow();

        TransactionResult lost = await shard.A.TransactAsync(claim, None);
        await swallowed;
        proxy.Pass();
        TransactionResult repeated = await shard.A.TransactAsync(claim, None);

        Assert.Equal((TransactionOutcome.Unknown, null), (lost.Outcome, lost.View));
        Assert.Equal(TransactionOutcome.Refused, repeated.Outcome);
        Assert.Equal(claim.Next, repeated.View!.State);
    }

    [Fact]
    public async Task GivenTwoNodes_WhenBothClaimAtOnce100Times_ThenExactlyOneWinsEachTime()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        EtcdShard b = shard.Node("b");
        Seat seatB = Shard.NewSeat("b");
        Assert.True(await b.PutNodeAsync(seatB.Life, "127.0.0.1:9491", None));
        for (int round = 1; round <= 100; round++)
        {
            ShardView view = await shard.ReadAsync();
            TransactionResult[] results = await Task.WhenAll(
                shard.A.TransactAsync(Shard.Claim(view, shard.SeatA), None),
                b.TransactAsync(Shard.Claim(view, seatB), None));

            TransactionResult won = Assert.Single(results, result => result.Outcome == TransactionOutcome.Succeeded);
            TransactionResult lost = Assert.Single(results, result => result.Outcome == TransactionOutcome.Refused);
            Assert.Equal(round, won.View!.State!.Epoch);
            Assert.Equal(won.View.State, lost.View!.State);
            Assert.Equal(won.View.Revision, lost.View.Revision);
        }
    }

    [Fact]
    public async Task GivenManyEpochs_WhenTheyBegin_ThenTheLast100AreKept()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        ShardView view = await shard.ReadAsync();
        for (int epoch = 1; epoch <= 103; epoch++)
            view = await shard.NextEpochAsync();

        Assert.Equal(Enumerable.Range(4, 100), view.History.Keys.Order());
        Assert.Equal(view.State!.Nonce, view.History[103]);
    }

    [Fact]
    public async Task GivenEpochsThatLeap_WhenOneBegins_ThenTheEpochBeforeItIsStillKnown()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        ShardView before = await shard.NextEpochAsync();
        Transaction claim = await shard.ClaimAsync();

        TransactionResult result = await shard.A.TransactAsync(
            claim with { Next = claim.Next with { Epoch = 5000 } }, None);

        Assert.Equal(TransactionOutcome.Succeeded, result.Outcome);
        Assert.Equal(before.State!.Nonce, result.View!.History[1]);
        Assert.Equal(claim.Next.Nonce, result.View.History[5000]);
    }

    [Fact]
    public async Task GivenAKeyThatCannotBeRead_WhenAClaimIsAnswered_ThenItsOutcomeIsUnknownAndTheLogNamesTheKey()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        Transaction claim = await shard.ClaimAsync();
        await shard.PutAsync(shard.Keys.Node("c"), "garbage");

        TransactionResult result = await shard.A.TransactAsync(claim, None);

        Assert.Equal((TransactionOutcome.Unknown, null), (result.Outcome, result.View));
        Assert.Contains(shard.Keys.Node("c"), Assert.Single(shard.Log.Lines, line => line.Id == UnknownId).Text);
    }
}
