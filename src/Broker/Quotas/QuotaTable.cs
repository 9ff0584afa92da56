using System.Collections.Concurrent;

namespace EQueue.Broker;

/// <summary>The quotas and the accounts of those who have one; docs/quotas.md is the design.</summary>
/// <remarks>Thread-safe. While there is no quota at all, asking costs one read.</remarks>
internal sealed class QuotaTable(ModuleContext context) : IBrokerModule, IDisposable
{
    /// <summary>Accounts after which those without debt are forgotten.</summary>
    private const int SweepCount = 10_000;

    private readonly SemaphoreSlim _changes = new(1, 1);
    private readonly ConcurrentDictionary<QuotaKey, Quota> _quotas = new();
    private ConcurrentDictionary<QuotaKey, QuotaAccounts> _accounts = new();
    private volatile bool _isUsed;
    private int _newAccounts;

    /// <summary>Takes over what the log holds; before the broker serves.</summary>
    public Task LoadAsync()
    {
        foreach (Quota quota in context.State.Quotas.Quotas)
            Publish(quota);
        return Task.CompletedTask;
    }

    /// <summary>Slows those who are in debt.</summary>
    public Throttle Throttle { get; } = new(context.Counters, context.Time);

    /// <summary>Whether there is any.</summary>
    public bool IsUsed => _isUsed;

    /// <summary>All quotas, clients first, each kind by name.</summary>
    public IReadOnlyList<Quota> List() =>
        [.. _quotas.Values.OrderBy(quota => quota.Kind).ThenBy(quota => quota.Name, StringComparer.Ordinal)];

    /// <summary>The quota of a name; null = it has none of its own.</summary>
    public Quota? Find(QuotaKind kind, string name) => _quotas.GetValueOrDefault(new QuotaKey(kind, name));

    /// <summary>Stores a quota; it holds when the task completes.</summary>
    /// <exception cref="EQueueException">InvalidArgument, LimitReached; what the store answers.</exception>
    public async Task SetAsync(Quota quota, CancellationToken cancellationToken)
    {
        QuotaRules.Check(quota);
        await _changes.WaitAsync(cancellationToken);
        try
        {
            bool isKnown = _quotas.ContainsKey(KeyOf(quota));
            if (quota.IsEmpty && !isKnown)
                return;
            if (!isKnown && _quotas.Count >= context.Limits.MaxQuotas)
            {
                throw new EQueueException(
                    ErrorCode.LimitReached, $"The broker has {_quotas.Count} quotas, its limit (Limits:MaxQuotas).");
            }

            await context.Store.AppendStateAsync([QuotaRecord.ToEntry(quota)], CancellationToken.None);
            Publish(quota);
            context.Logger.QuotaSet(quota.Kind, quota.Name, quota.ProduceBytes, quota.FetchBytes, quota.Requests);
        }
        finally
        {
            _changes.Release();
        }
    }

    /// <summary>The accounts of the client that a connection is of; null = it has no quota.</summary>
    public QuotaAccounts? OfClient(BrokerConnection peer) =>
        _isUsed && peer.Client is { } client ? Find(new QuotaKey(QuotaKind.Client, client.QuotaName)) : null;

    /// <summary>The accounts of a topic; null = it has no quota.</summary>
    public QuotaAccounts? OfTopic(Topic topic) =>
        _isUsed ? Find(new QuotaKey(QuotaKind.Topic, topic.Name)) : null;

    /// <summary>Charges the client of a connection for a request.</summary>
    /// <returns>What it owes then.</returns>
    public TimeSpan ChargeRequest(BrokerConnection peer) => OfClient(peer)?.ChargeRequest() ?? TimeSpan.Zero;

    /// <summary>Charges the client of a connection for a request that brings messages.</summary>
    /// <returns>What it owes then.</returns>
    public TimeSpan ChargeProduce(BrokerConnection peer, int bytes) =>
        OfClient(peer)?.ChargeProduce(bytes) ?? TimeSpan.Zero;

    /// <summary>Charges a topic for a batch.</summary>
    /// <param name="topic">Which.</param>
    /// <param name="bytes">Of the batch.</param>
    /// <param name="debt">Of the request; becomes the topic's if that is more.</param>
    public void ChargeProduce(Topic topic, int bytes, ref TimeSpan debt)
    {
        if (OfTopic(topic) is { } accounts)
            debt = QuotaAccounts.Max(debt, accounts.ChargeProduce(bytes));
    }

    /// <inheritdoc/>
    public void StopWaiting() => Throttle.Stop();

    public void Dispose()
    {
        Throttle.Dispose();
        _changes.Dispose();
    }

    private static QuotaKey KeyOf(Quota quota) => new(quota.Kind, quota.Name);

    private QuotaAccounts? Find(QuotaKey key)
    {
        ConcurrentDictionary<QuotaKey, QuotaAccounts> accounts = Volatile.Read(ref _accounts);
        return accounts.TryGetValue(key, out QuotaAccounts? found) ? found : Open(accounts, key);
    }

    private QuotaAccounts? Open(ConcurrentDictionary<QuotaKey, QuotaAccounts> accounts, QuotaKey key)
    {
        if (!_quotas.TryGetValue(key, out Quota? quota)
            && !_quotas.TryGetValue(key with { Name = Quota.Everybody }, out quota))
        {
            return null;
        }

        if (Interlocked.Increment(ref _newAccounts) % SweepCount == 0)
        {
            foreach ((QuotaKey other, QuotaAccounts rests) in accounts)
            {
                if (rests.IsIdle)
                    accounts.TryRemove(other, out _);
            }
        }

        return accounts.GetOrAdd(
            key, static (_, made) => new QuotaAccounts(made.quota, made.Time), (quota, context.Time));
    }

    private void Publish(Quota quota)
    {
        if (quota.IsEmpty)
            _quotas.TryRemove(KeyOf(quota), out _);
        else
            _quotas[KeyOf(quota)] = quota;
        Volatile.Write(ref _accounts, new ConcurrentDictionary<QuotaKey, QuotaAccounts>());
        _isUsed = !_quotas.IsEmpty;
    }
}
