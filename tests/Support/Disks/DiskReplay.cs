namespace EQueue.Support;

/// <summary>Plays the journal of a <see cref="SimulatedDisk"/> again, up to any byte, and cuts there.</summary>
/// <remarks>Goes forward only. A point is a number of whole changes and bytes of the write that follows.</remarks>
public sealed class DiskReplay(IReadOnlyList<DiskOperation> journal)
{
    private readonly DiskModel _model = new();
    private int _played;

    /// <summary>Plays the first <paramref name="changes"/> changes, and the first bytes of the next if that is a
    /// write.</summary>
    public void PlayTo(int changes, int bytes)
    {
        for (; _played < changes; _played++)
            _model.Apply(journal[_played]);
        if (bytes > 0 && changes < journal.Count && journal[changes] is { Kind: DiskOperationKind.Write } write)
            _model.Apply(write with { Bytes = write.Bytes![..Math.Min(bytes, write.Bytes.Length)] });
    }

    /// <summary>The process dies here.</summary>
    public SimulatedDisk Kill() => new(_model.Killed());

    /// <summary>The same, but what was not synced can still be lost. The replay is over.</summary>
    public SimulatedDisk KillProcess() => new(_model);

    /// <summary>The power goes here.</summary>
    public SimulatedDisk CutPower(int seed, PowerCutStyle style) => new(_model.AfterPowerCut(new Random(seed), style));
}
