using EQueue.Cluster.Etcd;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Tests.Etcd;

public sealed class EtcdMembersTests
{
    private static readonly Uri[] Three = [new("http://m0:1"), new("http://m1:1"), new("http://m2:1")];
    private static readonly EtcdException Why = new(EtcdTrouble.Unavailable, "silent");

    private readonly HandTime _time = new();
    private readonly EtcdMembers _members;

    public EtcdMembersTests() => _members = new EtcdMembers(Three, _time, NullLogger.Instance);

    private string Order => string.Join(' ', _members.InOrder().Select(member => member.Address.Host));

    [Fact]
    public void GivenNoAnswerYet_WhenMembersAreAsked_ThenInTheOrderOfTheOptions() => Assert.Equal("m0 m1 m2", Order);

    [Fact]
    public void GivenAMemberThatAnsweredLast_WhenMembersAreAsked_ThenItIsTheFirst()
    {
        _members.NoteAnswer(Member(2));
        Assert.Equal("m2 m0 m1", Order);
    }

    [Fact]
    public void GivenAMemberThatFailed_WhenMembersAreAsked_ThenItIsTheLastForFiveSeconds()
    {
        _members.NoteAnswer(Member(0));
        _members.NoteFailure(Member(0), Why);
        Assert.Equal("m1 m2 m0", Order);
        _time.Pass(TimeSpan.FromSeconds(4.9));
        Assert.Equal("m1 m2 m0", Order);
        _time.Pass(TimeSpan.FromSeconds(0.2));
        Assert.Equal("m0 m1 m2", Order);
    }

    [Fact]
    public void GivenAllMembersFailed_WhenMembersAreAsked_ThenEachOfThem()
    {
        for (int index = 0; index < 3; index++)
            _members.NoteFailure(Member(index), Why);
        Assert.Equal("m0 m1 m2", Order);
    }

    [Fact]
    public void GivenAMemberThatFailed_WhenItAnswers_ThenItIsTheFirstAtOnce()
    {
        _members.NoteFailure(Member(1), Why);
        _members.NoteAnswer(Member(1));
        Assert.Equal("m1 m0 m2", Order);
    }

    private EtcdMember Member(int index) => _members.InOrder().Single(member => member.Address == Three[index]);

    private sealed class HandTime : TimeProvider
    {
        private long _ticks;

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => _ticks;

        public void Pass(TimeSpan time) => _ticks += time.Ticks;
    }
}
