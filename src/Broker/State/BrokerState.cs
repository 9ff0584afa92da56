using System.Diagnostics;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>The broker's state as the log has it, staged changes included: the parts of all features.</summary>
/// <remarks>
/// Written by the store alone, under the log's lock; read by snapshots at the same time and by the catalogue and the
/// groups when the broker starts, and by commits, which compare with it. What clients are answered comes from those
/// two, who learn of a change when it is visible.
/// </remarks>
internal sealed class BrokerState : IStateMachine
{
    private readonly IStatePart[] _parts;
    private readonly IStatePart?[] _partOfKind = new IStatePart?[byte.MaxValue + 1];

    public BrokerState()
    {
        // Snapshots have the parts in this order.
        _parts = [Topics, Groups, Quotas, Security];
        foreach (IStatePart part in _parts)
        {
            foreach (byte kind in part.Kinds)
            {
                Debug.Assert(_partOfKind[kind] is null, "A kind of record belongs to one part.");
                _partOfKind[kind] = part;
            }
        }
    }

    public StoredTopics Topics { get; } = new();

    public StoredGroups Groups { get; } = new();

    public StoredQuotas Quotas { get; } = new();

    public StoredSecurity Security { get; } = new();

    /// <inheritdoc/>
    public void Apply(in StateRecord record)
    {
        if (_partOfKind[record.Kind] is not { } part)
        {
            throw new InvalidDataException(
                $"State record of kind {record.Kind}: the data directory was written by a later version.");
        }

        part.Apply(record);
    }

    /// <inheritdoc/>
    public IEnumerable<StateEntry> Capture() => _parts.SelectMany(static part => part.Capture());
}
