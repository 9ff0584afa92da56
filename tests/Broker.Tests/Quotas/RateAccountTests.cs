namespace EQueue.Broker.Tests.Quotas;

/// <summary>The arithmetic of a rate, with a clock that stands.</summary>
public sealed class RateAccountTests
{
    private readonly StandingTime _time = new();

    [Fact]
    public void GivenARestedAccount_WhenOneSecondIsUsed_ThenItIsFreeAndTheNextUseIsNot()
    {
        var account = new RateAccount(1_000, _time);
        Assert.True(account.IsIdle);
        Assert.Equal(TimeSpan.Zero, account.Charge(1_000));
        Assert.False(account.IsIdle);
        Assert.Equal(TimeSpan.FromMilliseconds(500), account.Charge(500));
        Assert.Equal(TimeSpan.FromMilliseconds(500), account.Debt);
        _time.Pass(TimeSpan.FromMilliseconds(1_400));
        Assert.Equal(TimeSpan.Zero, account.Debt);
        Assert.False(account.IsIdle);
        _time.Pass(TimeSpan.FromMilliseconds(100));
        Assert.True(account.IsIdle);
    }

    [Fact]
    public void GivenALongRest_WhenUsed_ThenNoMoreThanOneSecondIsFree()
    {
        var account = new RateAccount(1_000, _time);
        _time.Pass(TimeSpan.FromHours(1));
        Assert.Equal(TimeSpan.FromSeconds(1), account.Charge(2_000));
    }

    [Fact]
    public void GivenADebtOfHours_WhenCharged_ThenItIsForgivenButForTheLongest()
    {
        var account = new RateAccount(1, _time);
        Assert.Equal(RateAccount.MaxDebt, account.Charge(int.MaxValue));
        Assert.Equal(RateAccount.MaxDebt, account.Charge(1));
        _time.Pass(RateAccount.MaxDebt);
        Assert.Equal(TimeSpan.Zero, account.Debt);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void GivenAnyUse_WhenEachWaitsForItsDebt_ThenTheRateHoldsButForOneSecond(int seed)
    {
        var random = new Random(seed);
        var account = new RateAccount(100_000, _time);
        long used = 0;
        for (int i = 0; i < 5_000; i++)
        {
            int size = random.Next(1, 50_000);
            used += size;
            _time.Pass(account.Charge(size));
            if (random.Next(100) == 0)
                _time.Pass(TimeSpan.FromMilliseconds(random.Next(900)));
        }

        double allowed = 100_000 * (_time.Passed.TotalSeconds + 1);
        Assert.InRange(used, allowed * 0.99, allowed + 1);
    }

    [Fact]
    public async Task GivenManyThreads_WhenTheyChargeAtOnce_ThenNothingIsLost()
    {
        var account = new RateAccount(1_000_000, _time);
        await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Task.Run(() =>
        {
            for (int i = 0; i < 10_000; i++)
                account.Charge(100);
        })));
        Assert.Equal(TimeSpan.FromSeconds(7), account.Debt);
    }

    private sealed class StandingTime : TimeProvider
    {
        private long _ticks;

        public TimeSpan Passed => TimeSpan.FromTicks(_ticks);

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => Volatile.Read(ref _ticks);

        public void Pass(TimeSpan time) => _ticks += time.Ticks;
    }
}
