namespace EQueue.Remoting.Tests;

/// <summary>When a thread of the poller looks for more before it has the system asked.</summary>
public sealed class LookRecordTests
{
    [Fact]
    public void GivenLooksInVain_WhenThereWereMany_ThenOnlyOneWaitInSixteenTriesAgain()
    {
        var record = new LookRecord();
        int looks = 0;
        for (int wait = 0; wait < 1_616; wait++)
        {
            if (!record.AreWorthwhile) continue;
            record.Note(isThere: false);
            looks++;
        }

        Assert.Equal(16 + 100, looks);
    }

    [Fact]
    public void GivenLooksOfWhichOneInSixteenFindsSomething_WhenThatGoesOn_ThenEachWaitLooks()
    {
        var record = new LookRecord();
        for (int wait = 0; wait < 1_000; wait++)
        {
            Assert.True(record.AreWorthwhile);
            record.Note(isThere: wait % 16 == 0);
        }
    }

    [Fact]
    public void GivenAPeerThatWasSlow_WhenALookFindsSomething_ThenTheNextWaitsLookAgain()
    {
        var record = new LookRecord();
        while (record.AreWorthwhile) record.Note(isThere: false);
        while (!record.AreWorthwhile)
        {
            // Waits without a look.
        }

        record.Note(isThere: true);
        for (int wait = 0; wait < 16; wait++)
        {
            Assert.True(record.AreWorthwhile);
            record.Note(isThere: false);
        }

        Assert.False(record.AreWorthwhile);
    }
}
