namespace EQueue.Replication;

/// <summary>The random numbers of one replica: the same for the same seed, so that a simulation can be repeated. By
/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).</summary>
internal sealed class ReplicaRandom(ulong seed)
{
    private ulong _state = seed;

    /// <summary>A number below <paramref name="bound"/>, or 0 when that is not above 0.</summary>
    public int Below(int bound) => bound <= 0 ? 0 : (int)(Next() % (ulong)bound);

    public long NewSession() => (long)Next();

    public Nonce NewNonce() => new(new UInt128(Next(), Next()));

    private ulong Next()
    {
        _state += 0x9E3779B97F4A7C15;
        ulong z = _state;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }
}
