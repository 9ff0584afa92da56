using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>One feature's part of the state that the log holds.</summary>
/// <remarks>Changed by the store alone, under the log's lock; read by snapshots at the same time.</remarks>
internal interface IStatePart
{
    /// <summary>The kinds of its records; no other part has them.</summary>
    IReadOnlyList<byte> Kinds { get; }

    /// <summary>Takes over a record of one of its kinds.</summary>
    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    void Apply(in StateRecord record);

    /// <summary>The records from which <see cref="Apply"/> makes the same part.</summary>
    IEnumerable<StateEntry> Capture();
}
