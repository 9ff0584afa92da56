namespace EQueue.Broker;

/// <summary>Gives the generations of all groups of a broker: its epoch, and one counter. Thread-safe.</summary>
internal sealed class GroupGenerations(int epoch)
{
    private long _last = GroupGeneration.BeginOf(epoch).Value;

    public int Epoch => epoch;

    public GroupGeneration Last => new(Volatile.Read(ref _last));

    public GroupGeneration Next() => new(Interlocked.Increment(ref _last));
}
