using System.Collections.Concurrent;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>The quotas as the log has them.</summary>
internal sealed class StoredQuotas : IStatePart
{
    private readonly ConcurrentDictionary<QuotaKey, Quota> _quotas = new();

    public IEnumerable<Quota> Quotas => _quotas.Values;

    /// <inheritdoc/>
    public IReadOnlyList<byte> Kinds => [QuotaRecord.Kind];

    /// <inheritdoc/>
    public void Apply(in StateRecord record)
    {
        if (record.IsDeleted)
        {
            _quotas.TryRemove(QuotaRecord.ReadKey(record), out _);
            return;
        }

        Quota quota = QuotaRecord.Read(record);
        _quotas[new QuotaKey(quota.Kind, quota.Name)] = quota;
    }

    /// <inheritdoc/>
    public IEnumerable<StateEntry> Capture() => _quotas.Values.Select(QuotaRecord.ToEntry);
}
