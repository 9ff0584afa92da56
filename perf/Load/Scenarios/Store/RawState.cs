using EQueue.MessageStore;

namespace EQueue.Load.Scenarios;

/// <summary>
/// The state of a store whose records are not understood here: kept as they are, so that a broker finds its topics in
/// the snapshots of a store that this program opened.
/// </summary>
internal sealed class RawState : IStateMachine
{
    private readonly Lock _lock = new();
    private readonly Dictionary<string, StateEntry> _entries = new(StringComparer.Ordinal);

    /// <inheritdoc/>
    public void Apply(in StateRecord record)
    {
        string name = $"{record.Kind}:{Convert.ToHexString(record.Key)}";
        lock (_lock)
        {
            if (record.IsDeleted)
                _entries.Remove(name);
            else
                _entries[name] = new StateEntry(record.Kind, record.Key.ToArray(), record.Value.ToArray());
        }
    }

    /// <inheritdoc/>
    public IEnumerable<StateEntry> Capture()
    {
        lock (_lock)
            return [.. _entries.Values];
    }
}
