namespace EQueue.Protocol.Tests.Operations;

/// <summary>Where two histories of a log part: by hand, and against logs that are lists of who wrote each byte.
/// </summary>
public sealed class LogHistoryTests
{
    [Theory]
    [InlineData("1a0 2b50", "1a0 2b50", -1)] // the same
    [InlineData("1a0 2b50", "1a0", 50)] // opened anew
    [InlineData("1a0 2b50", "1a0 2c50", 50)] // two openings of one number at one place
    [InlineData("1a0 2b60", "1a0 2c20", 20)] // the other went on earlier
    [InlineData("1a0 2b20", "1a0 2c60 3d90", 20)] // this one went on earlier
    [InlineData("1a0 2b50", "1a0 2c50 3d60 4e70", 50)] // the other went on often
    [InlineData("1a0 5b50", "1a0 2c40 3d60 4e70", 40)] // numbers that the other does not have
    [InlineData("1a0 3b50", "1a0 2c50", 50)] // an epoch without messages was left out
    [InlineData("8a500 9b600", "3c100 4d200", 500)] // all that was known is older than all that is kept
    [InlineData("1a0 2b50", "8c500 9d600", 0)] // nothing in common
    [InlineData("1a0 2b50", "1z0", 0)] // not even the first opening
    public void GivenTwoHistories_WhenTheForkIsAskedFor_ThenItIsWhereTheFirstOfThemWentOn(
        string own, string known, long fork) =>
        Assert.Equal(fork < 0 ? LogHistory.NoFork : fork, Parse(own).ForkFrom(Parse(known)));

    [Theory]
    [InlineData(1)]
    [InlineData(0)]
    public void GivenLogsCutAndCopiedAtRandom_WhenTheForkIsAskedFor_ThenItIsWhereTheirBytesPart(int seed)
    {
        seed = seed == 0 ? Environment.TickCount : seed;
        var random = new Random(seed);
        for (int run = 0; run < 2_000; run++)
        {
            var logs = new List<Log> { new([], []) };
            for (int step = 0; step < 30; step++)
            {
                Log log = logs[random.Next(logs.Count)];
                int kept = random.Next(3) == 0 ? random.Next(log.Bytes.Count + 1) : log.Bytes.Count;
                Log next = log.OpenAt(kept, random);
                next.Append(random.Next(0, 4));
                logs.Add(next);
            }

            Log one = logs[random.Next(logs.Count)], other = logs[random.Next(logs.Count)];
            long fork = one.History.ForkFrom(other.History);
            int same = one.Bytes.Zip(other.Bytes).TakeWhile(pair => pair.First == pair.Second).Count();
            bool isWhole = fork >= one.Bytes.Count && same >= one.Bytes.Count;
            if (one == other)
                Assert.Equal(LogHistory.NoFork, fork);
            else
                Assert.True(fork <= same || isWhole, $"seed {seed}");
            Assert.True(fork >= Math.Min(same, one.Bytes.Count), $"seed {seed}: {fork} is too far before {same}");
        }
    }

    private static LogHistory Parse(string text) => new([.. text.Split(' ').Select(static one =>
        new HistoryEpoch(new HistoryMark(one[0] - '0', one[1]), long.Parse(one[2..])))]);

    /// <summary>A log whose bytes name the opening that wrote them.</summary>
    private sealed record Log(List<uint> Bytes, List<HistoryEpoch> Epochs)
    {
        public LogHistory History => new([.. Epochs]);

        public Log OpenAt(int length, Random random)
        {
            List<HistoryEpoch> epochs = [.. Epochs.Where(epoch => epoch.Start < length)];
            int last = epochs.Count > 0 ? epochs[^1].Mark.Epoch : 0;
            epochs.Add(new HistoryEpoch(new HistoryMark(last + 1, (uint)random.Next(1, int.MaxValue)), length));
            var log = new Log([.. Bytes.Take(length)], epochs);
            log.Append(1); // the epoch start itself
            return log;
        }

        public void Append(int count)
        {
            for (int i = 0; i < count; i++)
                Bytes.Add(Epochs[^1].Mark.Mark);
        }
    }
}
