using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Stands before a port: connections through it can be refused, hold what goes either way, or be
/// damaged.</summary>
internal sealed class LinkProxy(Uri? target = null) : TcpRelay(target?.Authority)
{
    /// <summary>Whether what goes to the target waits, as in a network that carries one way only: TCP sends it again until
    /// it is through.</summary>
    public bool HoldsThere { get; set; }

    /// <summary>Whether what comes from the target waits.</summary>
    public bool HoldsBack { get; set; }

    /// <summary>Called with bytes on their way to the target; may change them.</summary>
    public Action<Memory<byte>>? Damage { get; set; }

    public override void Pass()
    {
        HoldsThere = HoldsBack = false;
        base.Pass();
    }

    protected override async ValueTask<bool> PassAsync(Memory<byte> bytes, bool isAnswer, CancellationToken end)
    {
        if (!isAnswer)
            Damage?.Invoke(bytes);
        await Eventually.TrueAsync(() => !(isAnswer ? HoldsBack : HoldsThere) || end.IsCancellationRequested);
        return true;
    }
}
