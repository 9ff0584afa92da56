using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>What a member is at every broker: its group, its name, what it wants.</summary>
/// <param name="Group">The group.</param>
/// <param name="Member">The id that the member made for itself.</param>
/// <param name="Topics">What it subscribes to.</param>
/// <param name="Options">How it reads.</param>
/// <param name="Client">How brokers are reached.</param>
/// <param name="Logger">Where it logs.</param>
internal sealed record MemberTerms(
    string Group,
    Guid Member,
    IReadOnlyList<string> Topics,
    ConsumerOptions Options,
    ClientOptions Client,
    ILogger Logger)
{
    private uint _sequence;

    /// <summary>Whether there is a place for progress: a broadcast member without a name has none.</summary>
    public bool KeepsProgress => !Options.IsBroadcast || Options.InstanceId is not null;

    /// <summary>The name under which progress is kept.</summary>
    public string ProgressName =>
        Options is { IsBroadcast: true, InstanceId: { } instance } ? Group + "/" + instance : Group;

    /// <summary>How long an answer may take, apart from what the broker was asked to wait.</summary>
    public TimeSpan Patience =>
        Options.SessionTimeout < Client.RequestTimeout ? Options.SessionTimeout : Client.RequestTimeout;

    /// <summary>Numbers the member's calls: each is later than those before, whichever session makes it.</summary>
    public uint NextSequence() => Interlocked.Increment(ref _sequence);
}
