namespace EQueue.Client;

/// <summary>A lane's requests, used again and again.</summary>
/// <remarks>Belongs to the lane's gate, but for the indexer.</remarks>
internal sealed class ProduceRequests
{
    /// <summary>Requests whose answers are still being worked through while the next ones are in flight.</summary>
    private const int Spare = 4;

    private readonly ProduceRequest[] _all;
    private readonly Stack<ProduceRequest> _free = new();

    /// <param name="maxInFlight">Requests that may be in flight.</param>
    public ProduceRequests(int maxInFlight)
    {
        _all = new ProduceRequest[maxInFlight + Spare];
        for (int i = 0; i < _all.Length; i++)
        {
            _all[i] = new ProduceRequest(i);
            _free.Push(_all[i]);
        }
    }

    /// <summary>Whether one is free.</summary>
    public bool HasFree => _free.Count > 0;

    /// <summary>The request of an answer. Under no gate.</summary>
    /// <param name="token">Its <see cref="ProduceRequest.Index"/>.</param>
    public ProduceRequest this[long token] => _all[token];

    /// <summary>Takes a free one.</summary>
    public ProduceRequest Take() => _free.Pop();

    /// <summary>Takes back one that is done with and cleared.</summary>
    public void Return(ProduceRequest request) => _free.Push(request);
}
