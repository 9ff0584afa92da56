using System.Diagnostics;
using System.Globalization;
using System.Text;
using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

/// <summary>Batches of our builder are parsed by python3-kafka (Kafka/read_batch.py), which knows nothing of
/// ours.</summary>
public class KafkaReadsOursTests
{
    /// <summary>Debian's own interpreter: the one that Debian's python3-kafka is installed for.</summary>
    private const string Python = "/usr/bin/python3";

    private static readonly Lazy<bool> HasKafka = new(() => Run("-c", "import kafka.record", [], out _, out _) == 0);

    [Fact]
    public void GivenOurPlainRecords_WhenKafkaReadsThem_ThenTheyAreTheSame() =>
        AssertKafkaReads([.. Enumerable.Range(0, 500).Select(i => Record(i % 70, null, new byte[i * 20]))]);

    [Fact]
    public void GivenOurNullsAndEmpties_WhenKafkaReadsThem_ThenTheyAreTheSame() =>
        AssertKafkaReads(
            Record(0, null, null),
            Record(1, [], []),
            Record(2, [1], null),
            Record(-3, null, [2]),
            Record(1L << 40, [3], [4]));

    [Fact]
    public void GivenOurTagsAndProperties_WhenKafkaReadsThem_ThenTheyAreTheSame() =>
        AssertKafkaReads(
            Record(0, "customer-7"u8.ToArray(), "body"u8.ToArray()) with
            {
                Tag = "bezahlt-grün",
                Properties = [("trace", [0, 255]), ("trace", null), ("größe", [])],
            },
            Record(0, null, "untagged"u8.ToArray()) with { Properties = [("a", "b"u8.ToArray())] },
            Record(0, null, []) with { Tag = "" });

    [Fact]
    public void GivenALargeBody_WhenKafkaReadsIt_ThenItIsTheSame()
    {
        byte[] body = new byte[4 << 20];
        new Random(3).NextBytes(body);
        AssertKafkaReads(Record(0, null, body), Record(0, body[..70_000], [1]));
    }

    [Fact]
    public void GivenAFlippedBit_WhenKafkaReadsIt_ThenItRefusesTheCrc()
    {
        SkipWithoutKafka();
        byte[] batch = Build(Record(0, null, [1, 2, 3]));
        batch[^2] ^= 1;

        Assert.NotEqual(0, Run(ReadBatch, "", batch, out _, out string error));

        Assert.Contains("CRC differs", error, StringComparison.Ordinal);
    }

    private static string ReadBatch => Path.Combine(AppContext.BaseDirectory, "Kafka", "read_batch.py");

    private static SampleRecord Record(long delta, byte[]? key, byte[]? body) =>
        new(BaseTimestampMs + delta, key, body);

    private static void SkipWithoutKafka() => Assert.SkipUnless(
        HasKafka.Value,
        "python3-kafka is missing: apt-get install python3-kafka to have our batches read by another implementation.");

    private static void AssertKafkaReads(params SampleRecord[] records)
    {
        SkipWithoutKafka();
        byte[] batch = Build(new ProducerSession(42, 3), 1000, records);
        RecordBatch.Stamp(batch, new QueueOffset(5_000_000_000), 12);

        int exitCode = Run(ReadBatch, "", batch, out string output, out string error);

        Assert.Equal("", error);
        Assert.Equal(0, exitCode);
        IEnumerable<string> expected =
        [
            Line("batch", 5_000_000_000, 2, 0, records.Length - 1, BaseTimestampMs, records.Max(r => r.TimestampMs)),
            .. records.Select((record, i) => LineOf(record, 5_000_000_000 + i)),
        ];
        Assert.Equal(expected, output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    private static string LineOf(SampleRecord record, long offset)
    {
        List<(string Name, byte[]? Value)> headers = [.. record.Properties];
        if (record.Tag is not null)
            headers.Insert(0, ("eq-tag", Encoding.UTF8.GetBytes(record.Tag)));
        string line = Line("record", offset, record.TimestampMs, Text(record.Key), Text(record.Body));
        foreach ((string name, byte[]? value) in headers)
            line += "\t" + Text(Encoding.UTF8.GetBytes(name)) + "\t" + Text(value);
        return line;
    }

    private static string Line(params object[] fields) =>
        string.Join('\t', fields.Select(f => Convert.ToString(f, CultureInfo.InvariantCulture)));

    private static string Text(byte[]? bytes) => bytes is null ? "-" : "x" + Convert.ToHexStringLower(bytes);

    /// <summary>Runs the interpreter with <paramref name="input"/> on its standard input.</summary>
    private static int Run(string script, string argument, byte[] input, out string output, out string error)
    {
        output = error = "";
        if (!File.Exists(Python))
            return -1;

        var start = new ProcessStartInfo(Python)
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            ArgumentList = { script },
        };
        if (argument.Length > 0)
            start.ArgumentList.Add(argument);
        using Process process = Process.Start(start)!;
        Task<string> outputRead = process.StandardOutput.ReadToEndAsync();
        Task<string> errorRead = process.StandardError.ReadToEndAsync();
        process.StandardInput.BaseStream.Write(input);
        process.StandardInput.Close();
        process.WaitForExit();
        output = outputRead.Result;
        error = errorRead.Result;
        return process.ExitCode;
    }
}
