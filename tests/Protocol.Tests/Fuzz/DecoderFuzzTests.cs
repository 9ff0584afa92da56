using System.Buffers.Binary;
using EQueue.Protocol.Tests.Operations;
using EQueue.Support.Fuzz;

namespace EQueue.Protocol.Tests.Fuzz;

/// <summary>Every decoder of bodies and of record batches against mutations of a corpus. See <see cref="FuzzRun"/>.</summary>
public sealed class DecoderFuzzTests
{
    /// <summary>Bytes of memory for a byte of a body: the dearest item is an object of 48 bytes for two on the
    /// wire.</summary>
    private const int BytesPerByte = 32;

    private const int MaxPlainBytes = 64 * 1024;

    [Fact]
    public void GivenTheCorpus_WhenRead_ThenEveryBodyIsGoodAndEveryKindIsThere()
    {
        foreach (OperationCase operation in OperationCases.All)
        {
            IReadOnlyList<byte[]> corpus = Corpus.Read(operation.Name);
            Assert.True(
                corpus.Count > 0,
                $"{operation.Name}.hex is missing in tests/Support/Corpus; its lines could be:{Environment.NewLine}"
                + string.Join(
                    Environment.NewLine,
                    Enumerable.Range(1, 4).Select(seed => Convert.ToHexString(operation.Make(new Random(seed))))));
            Assert.All(corpus, bytes => Assert.Equal(bytes, operation.ReadAndWrite(bytes)));
        }

        Assert.All(Corpus.Read("ProduceBody"), bytes => Assert.True(ReadProduce(bytes)));
        Assert.All(Corpus.Read("ProduceAnswer"), bytes => Assert.True(ReadProduceAnswer(bytes)));
        Assert.All(Corpus.Read("FetchAnswer"), bytes => Assert.True(ReadFetchAnswer(bytes)));
        Assert.All(Corpus.Read("RecordBatch"), bytes => Assert.True(ReadBatch(bytes)));
    }

    [Fact]
    public void GivenMutatedBodies_WhenRead_ThenNothingIsThrownAndLittleIsAllocated()
    {
        int share = FuzzRun.Inputs / 2 / OperationCases.All.Count;
        long readable = OperationCases.All.Sum(operation => (long)FuzzRun.Feed(
            operation.Name, Corpus.Read(operation.Name), share, BytesPerByte, operation.Read));
        Assert.InRange(readable, 1, (long)share * OperationCases.All.Count);
    }

    [Fact]
    public void GivenMutatedBodiesOfBatches_WhenRead_ThenNothingIsThrownAndLittleIsAllocated()
    {
        int share = FuzzRun.Inputs / 8;
        Assert.InRange(FuzzRun.Feed("ProduceBody", Corpus.Read("ProduceBody"), share, 0, ReadProduce), 1, share);
        Assert.InRange(FuzzRun.Feed("ProduceAnswer", Corpus.Read("ProduceAnswer"), share, 0, ReadProduceAnswer), 1, share);
        Assert.InRange(FuzzRun.Feed("FetchAnswer", Corpus.Read("FetchAnswer"), share, 0, ReadFetchAnswer), 1, share);
        Assert.InRange(FuzzRun.Feed("RecordBatch", Corpus.Read("RecordBatch"), share, 0, ReadBatch), 1, share);
    }

    [Fact]
    public void GivenMutatedGzipBatches_WhenDecompressed_ThenTheResultKeepsToItsBound()
    {
        int count = FuzzRun.Inputs / 100;
        byte[] golden = File.ReadAllBytes(Path.Combine(AppContext.BaseDirectory, "Golden", "kafka-gzip.bin"));
        Assert.InRange(FuzzRun.Feed("gzip", [golden], count, (4 * MaxPlainBytes / golden.Length) + 32, Gunzip), 1, count);
    }

    private static bool ReadProduce(Span<byte> bytes)
    {
        ReadOnlySpan<byte> rest = bytes;
        if (!ProduceRequestHeader.TryRead(rest, out ProduceRequestHeader head))
            return false;
        rest = rest[ProduceRequestHeader.Size..];
        for (int i = 0; i < head.BatchCount; i++)
        {
            if (!ProduceBatchHeader.TryRead(rest, out ProduceBatchHeader batch))
                return false;
            if (RecordBatch.Check(rest.Slice(ProduceBatchHeader.Size, batch.BatchSize), out _) != ErrorCode.None)
                return false;
            rest = rest[(ProduceBatchHeader.Size + batch.BatchSize)..];
        }

        return rest.IsEmpty;
    }

    private static bool ReadProduceAnswer(Span<byte> bytes)
    {
        if (!ProduceResponse.TryReadHeader(bytes, out _, out int count))
            return false;
        for (int i = 0; i < count; i++)
            ProduceResult.Read(bytes[(ProduceResponse.HeaderSize + (i * ProduceResult.Size))..]);
        return true;
    }

    private static bool ReadFetchAnswer(Span<byte> bytes)
    {
        if (!FetchResponseHeader.TryRead(bytes, out FetchResponseHeader head))
            return false;
        ReadOnlySpan<byte> rest = bytes[FetchResponseHeader.Size..];
        for (int i = 0; i < head.QueueCount; i++)
        {
            if (!FetchedQueueHeader.TryRead(rest, out FetchedQueueHeader queue))
                return false;
            rest = rest[(FetchedQueueHeader.Size + queue.EntriesSize)..];
        }

        return rest.IsEmpty;
    }

    /// <summary>Every field of every record; half of the batches with a CRC that fits, to get that far.</summary>
    private static bool ReadBatch(Span<byte> bytes)
    {
        if (bytes.Length > RecordBatchLayout.HeaderSize && (bytes[^1] & 1) == 0)
        {
            BinaryPrimitives.WriteUInt32BigEndian(
                bytes[RecordBatchLayout.Crc..], Crc32C.Compute(bytes[RecordBatchLayout.Attributes..]));
        }

        if (RecordBatch.Check(bytes, out RecordBatchHeader header) != ErrorCode.None)
            return false;
        var reader = new RecordReader(bytes);
        int count = 0;
        int seen = 0;
        while (reader.TryRead(out RecordView record))
        {
            count++;
            seen += record.Key.Length + record.Body.Length + record.Tag.Length;
            foreach (RecordProperty property in record.Properties)
                seen += property.Name.Length + (property.Value.HasValue ? property.Value.Value.Length : 0);
        }

        if (seen > bytes.Length || (reader.Error == ErrorCode.None && count != header.RecordsCount && header.Codec == RecordCodec.None))
            throw new InvalidDataException($"{count} records with {seen} bytes came out of {bytes.Length} bytes.");
        return reader.Error == ErrorCode.None;
    }

    private static bool Gunzip(Span<byte> bytes)
    {
        ErrorCode error = RecordBatch.Decompress(bytes.ToArray(), MaxPlainBytes, out ReadOnlyMemory<byte> plain);
        if (error == ErrorCode.None && plain.Length > MaxPlainBytes && plain.Length > bytes.Length)
            throw new InvalidDataException($"{plain.Length} bytes came out; {MaxPlainBytes} were allowed.");
        return error == ErrorCode.None;
    }
}
