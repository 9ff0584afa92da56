using EQueue.Load.Measuring;

namespace EQueue.Load.Tests;

public sealed class SequenceCheckerTests
{
    private const int Size = 64;
    private const int Queues = 2;
    private const uint Run = 7;

    private readonly BodyPool[] _sent = [new(1, 0, Size, 16), new(1, 1, Size, 16)];

    [Fact]
    public void GivenEveryMessageOnceAndInOrder_WhenJudged_ThenNothingIsWrong()
    {
        SequenceChecker checker = Checker();
        foreach ((int queue, byte[] body) in Messages(5000))
            checker.Observe(queue, body);

        Assert.True(SequenceChecker.Judge([checker], [5000, 5000]).IsRight);
    }

    [Fact]
    public void GivenALostMessage_WhenJudged_ThenOneIsMissing()
    {
        SequenceChecker checker = Checker();
        foreach ((int queue, byte[] body) in Messages(5000).Where((_, i) => i != 1234))
            checker.Observe(queue, body);

        Assert.Equal(new CheckResult(1, 0, 0, 0), SequenceChecker.Judge([checker], [5000, 5000]));
    }

    [Fact]
    public void GivenAMessageTwice_WhenJudged_ThenOneIsDuplicated()
    {
        SequenceChecker checker = Checker();
        foreach ((int queue, byte[] body) in Messages(5000))
        {
            checker.Observe(queue, body);
            if (BodyStamp.Read(body) == new BodyStamp(99, 1, Run))
                checker.Observe(queue, body);
        }

        Assert.Equal(new CheckResult(0, 1, 0, 0), SequenceChecker.Judge([checker], [5000, 5000]));
    }

    [Fact]
    public void GivenAStretchOfAQueueTwice_WhenJudged_ThenAllOfItIsDuplicatedAndNothingIsReordered()
    {
        SequenceChecker checker = Checker();
        var messages = Messages(5000).ToList();
        foreach ((int queue, byte[] body) in messages.Take(6000).Concat(messages.Skip(5600)))
            checker.Observe(queue, body);

        Assert.Equal(new CheckResult(0, 400, 0, 0), SequenceChecker.Judge([checker], [5000, 5000]));
    }

    [Fact]
    public void GivenAMessageInTwoQueues_WhenJudged_ThenItIsDuplicated()
    {
        SequenceChecker checker = Checker();
        foreach ((int queue, byte[] body) in Messages(5000))
        {
            checker.Observe(queue, body);
            if (BodyStamp.Read(body) == new BodyStamp(4999, 1, Run))
                checker.Observe(1 - queue, body);
        }

        Assert.Equal(new CheckResult(0, 1, 0, 0), SequenceChecker.Judge([checker], [5000, 5000]));
    }

    [Fact]
    public void GivenTwoMessagesOfAQueueSwapped_WhenJudged_ThenOneIsReordered()
    {
        SequenceChecker checker = Checker();
        var messages = Messages(5000).Where(message => message.Queue == 0).ToList();
        (messages[10], messages[12]) = (messages[12], messages[10]);
        foreach ((int queue, byte[] body) in messages)
            checker.Observe(queue, body);

        Assert.Equal(1, checker.Reordered);
        Assert.Equal(0, checker.Duplicated);
    }

    [Fact]
    public void GivenAMessageToTwoConsumers_WhenJudged_ThenItIsDuplicatedAndNoneIsMissing()
    {
        SequenceChecker first = Checker();
        SequenceChecker second = Checker();
        int index = 0;
        foreach ((int queue, byte[] body) in Messages(5000))
        {
            if (index % 2 == 0 || index == 77)
                first.Observe(queue, body);
            if (index % 2 == 1)
                second.Observe(queue, body);
            index++;
        }

        Assert.Equal(new CheckResult(0, 1, 0, 0), SequenceChecker.Judge([first, second], [5000, 5000]));
    }

    [Fact]
    public void GivenForeignBodies_WhenObserved_ThenTheyAreDamaged()
    {
        SequenceChecker checker = Checker();
        byte[] good = Messages(1).First().Body;

        checker.Observe(0, good.AsSpan(1));
        checker.Observe(0, Changed(good, 12));
        checker.Observe(0, Changed(good, 11));
        checker.Observe(0, Changed(good, 7));
        checker.Observe(0, Changed(good, 40));

        Assert.Equal(5, checker.Damaged);
    }

    [Fact]
    public void GivenAMessageThatNobodySent_WhenJudged_ThenItIsDamaged()
    {
        SequenceChecker checker = Checker();
        foreach ((int queue, byte[] body) in Messages(100))
            checker.Observe(queue, body);

        Assert.Equal(new CheckResult(0, 0, 0, 1), SequenceChecker.Judge([checker], [100, 99]));
    }

    private static byte[] Changed(byte[] body, int index)
    {
        byte[] changed = body.ToArray();
        changed[index] ^= 0x40;
        return changed;
    }

    private SequenceChecker Checker() => new(new BodyComparer(1, Size, 16), 2, Queues, Size, Run);

    /// <summary>What two producers send over two queues, interleaved.</summary>
    private IEnumerable<(int Queue, byte[] Body)> Messages(int countPerProducer)
    {
        for (int sequence = 0; sequence < countPerProducer; sequence++)
        {
            for (int producer = 0; producer < 2; producer++)
                yield return (sequence / 100 % Queues, _sent[producer].Next(new(sequence, producer, Run), 5).ToArray());
        }
    }
}
