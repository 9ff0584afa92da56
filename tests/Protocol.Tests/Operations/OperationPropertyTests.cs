using FsCheck;
using FsCheck.Fluent;

namespace EQueue.Protocol.Tests.Operations;

/// <summary>Arbitrary bodies and hostile bytes, for every operation. A failure prints FsCheck's seed.</summary>
public sealed class OperationPropertyTests
{
    private static readonly Config Many = Config.QuickThrowOnFailure.WithMaxTest(300);

    public static TheoryData<string> Names => [.. OperationCases.All.Select(one => one.Name)];

    [Theory]
    [MemberData(nameof(Names))]
    public void GivenAnArbitraryBody_WhenItIsReadAndWrittenAgain_ThenTheBytesAreTheSame(string name)
    {
        OperationCase operation = Find(name);
        Check(seed =>
        {
            byte[] bytes = operation.Make(new Random(seed));
            return operation.ReadAndWrite(bytes) is { } again && again.AsSpan().SequenceEqual(bytes);
        });
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void GivenABodyCutShort_WhenItIsRead_ThenItIsRefused(string name)
    {
        OperationCase operation = Find(name);
        Check(seed =>
        {
            byte[] bytes = operation.Make(new Random(seed));
            for (int length = 0; length < bytes.Length; length++)
            {
                if (operation.ReadAndWrite(bytes[..length]) is not null)
                    return false;
            }

            return true;
        });
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void GivenBytesLeftOver_WhenTheBodyIsRead_ThenItIsRefused(string name)
    {
        OperationCase operation = Find(name);
        Check(seed => operation.ReadAndWrite([.. operation.Make(new Random(seed)), 0]) is null);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void GivenHostileBytes_WhenTheyAreRead_ThenNothingIsThrownAndLittleIsAllocated(string name)
    {
        OperationCase operation = Find(name);
        Check(seed =>
        {
            var random = new Random(seed);
            byte[] bytes = Mutate(operation.Make(random), random);
            long before = GC.GetAllocatedBytesForCurrentThread();
            operation.ReadAndWrite(bytes);
            return GC.GetAllocatedBytesForCurrentThread() - before < (64 * bytes.Length) + (32 << 10);
        });
    }

    [Fact]
    public void GivenHostileBytes_WhenFixedHeadsAreRead_ThenWhatIsAcceptedFitsTheBytes() => Check(seed =>
    {
        var random = new Random(seed);
        byte[] bytes = new byte[random.Next(80)];
        random.NextBytes(bytes);
        for (int i = 0; i < bytes.Length; i++)
        {
            if (random.Next(3) != 0)
                bytes[i] = 0;
        }

        return (!ProduceRequestHeader.TryRead(bytes, out ProduceRequestHeader produce)
                || produce.BatchCount * (long)ProduceBatchHeader.Size <= bytes.Length - ProduceRequestHeader.Size)
            && (!ProduceBatchHeader.TryRead(bytes, out ProduceBatchHeader batch)
                || batch.BatchSize <= bytes.Length - ProduceBatchHeader.Size)
            && (!ProduceResponse.TryReadHeader(
                bytes, out _, out int count) || ProduceResponse.SizeOf(count) == bytes.Length)
            && (!FetchResponseHeader.TryRead(bytes, out FetchResponseHeader fetch)
                || fetch.QueueCount * (long)FetchedQueueHeader.Size <= bytes.Length - FetchResponseHeader.Size)
            && (!FetchedQueueHeader.TryRead(bytes, out FetchedQueueHeader queue)
                || queue.EntriesSize <= bytes.Length - FetchedQueueHeader.Size);
    });

    [Fact]
    public void GivenEveryRequestOfTheProtocol_WhenTheCasesAreRead_ThenItAndItsAnswerAreAmongThem()
    {
        // These two are not payloads: their batches are read in place.
        Opcode[] inPlace = [Opcode.Produce, Opcode.Fetch];
        var named = OperationCases.All.Select(static one => one.Name).ToHashSet();
        List<Opcode> seen = [];
        foreach (Type type in typeof(HelloRequest).Assembly.GetExportedTypes())
        {
            Type? request = type.GetInterfaces().FirstOrDefault(static one =>
                one.IsGenericType && one.GetGenericTypeDefinition() == typeof(IRequest<,>));
            if (request is null)
                continue;
            Assert.Contains(type.Name, named);
            Assert.Contains(request.GenericTypeArguments[1].Name, named);
            seen.Add((Opcode)type.GetProperty("Opcode")!.GetValue(null)!);
        }

        Assert.Equal(Enum.GetValues<Opcode>().Except(inPlace), seen.Order());
    }

    private static OperationCase Find(string name) => OperationCases.All.Single(one => one.Name == name);

    private static void Check(Func<int, bool> holds) =>
        FsCheck.Fluent.Prop.ForAll(ArbMap.Default.ArbFor<int>(), holds).Check(Many);

    private static byte[] Mutate(byte[] bytes, Random random)
    {
        byte[] hostile = random.Next(4) switch
        {
            0 => bytes[..random.Next(bytes.Length + 1)],
            1 => [.. bytes, .. bytes],
            _ => [.. bytes],
        };
        for (int i = random.Next(6); i > 0 && hostile.Length > 0; i--)
            hostile[random.Next(hostile.Length)] = random.Next(3) == 0 ? (byte)0xFF : (byte)random.Next(256);
        return hostile;
    }
}
