
namespace EQueue.Support.Fuzz;

/// <summary>Something that reads bytes; false = they are not readable, which is a good answer.</summary>
public delegate bool ByteReader(Span<byte> bytes);

/// <summary>
/// Mutated inputs against a reader: no exception, and no more memory than the input's size allows. EQUEUE_FUZZ_INPUTS
/// sets how many inputs over all readers of a test (200,000), EQUEUE_FUZZ_SEED the seed (1); a failure prints both.
/// </summary>
public static class FuzzRun
{
    /// <summary>Bytes that a reader may allocate for any input at all.</summary>
    private const long SpareBytes = 4 * 1024;

    /// <summary>Inputs of a run that may be measured a second time. With tiered compilation, and only then, the runtime
    /// allocates 5 to 8 KB on a thread now and then; what a reader takes it takes each time.</summary>
    private const int MostRepeats = 3;

    /// <summary>Inputs over all readers of a test.</summary>
    public static int Inputs { get; } = LongRun.Length("EQUEUE_FUZZ_INPUTS", 100_000, 2_000_000);

    public static int Seed { get; } = LongRun.Setting("EQUEUE_FUZZ_SEED", 1);

    /// <summary>Feeds a reader.</summary>
    /// <param name="name">What is read, for the message of a failure.</param>
    /// <param name="corpus">Good inputs.</param>
    /// <param name="count">How many inputs.</param>
    /// <param name="bytesPerByte">Bytes that may be allocated for each of the input.</param>
    /// <param name="read">The reader.</param>
    /// <returns>How many inputs were readable.</returns>
    /// <exception cref="InvalidOperationException">One threw or took too much; the message has its bytes.</exception>
    public static int Feed(
        string name, IReadOnlyList<byte[]> corpus, int count, int bytesPerByte, ByteReader read)
    {
        ArgumentNullException.ThrowIfNull(corpus);
        ArgumentNullException.ThrowIfNull(read);
        foreach (byte[] good in corpus)
            read([.. good]);
        var mutator = new ByteMutator(corpus, Seed);
        int readable = 0;
        int repeats = 0;
        for (int number = 0; number < count; number++)
        {
            long excess = Feed(name, mutator, number, bytesPerByte, read, out bool isReadable);
            if (excess > 0 && repeats++ < MostRepeats)
                excess = Feed(name, mutator, number, bytesPerByte, read, out isReadable);
            if (excess > 0)
            {
                throw new InvalidOperationException(
                    $"{name} allocated {excess} bytes more than it may for {Describe(mutator, number)}");
            }

            if (isReadable)
                readable++;
        }

        return readable;
    }

    /// <returns>Bytes that were allocated beyond what the input allows.</returns>
    private static long Feed(
        string name, ByteMutator mutator, int number, int bytesPerByte, ByteReader read, out bool isReadable)
    {
        Span<byte> input = mutator.Make(number);
        long before = GC.GetAllocatedBytesForCurrentThread();
        try
        {
            isReadable = read(input);
        }
        catch (Exception exception)
        {
            throw new InvalidOperationException(
                $"{name} threw for {Describe(mutator, number)}: {exception.Message}", exception);
        }

        return GC.GetAllocatedBytesForCurrentThread() - before - SpareBytes - ((long)bytesPerByte * input.Length);
    }

    private static string Describe(ByteMutator mutator, int number) =>
        $"input {number} of EQUEUE_FUZZ_SEED={Seed}: {Convert.ToHexString(mutator.Make(number))}";
}
