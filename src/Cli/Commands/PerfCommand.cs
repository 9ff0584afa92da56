using System.CommandLine;
using System.Globalization;
using System.Text;
using System.Text.Json;
using EQueue.Cli.Connecting;
using EQueue.Cli.Measuring;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>perf</c>: a short test of the user's own deployment.</summary>
internal static class PerfCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        Option<int> seconds = Number("--seconds", "How long to send: 1 to 60.", 5);
        Option<int> size = Number("--size", $"Bytes of a body, {SelfTest.LeastSize} or more.", 256);
        Option<int> queues = Number("--queues", "Queues of the topic, 1 or more.", 4);
        var rate = new Option<int?>("--rate")
        {
            Description = "Messages to send per second, 1 or more; as many as go unless set.",
            HelpName = "N",
        };
        var command = new Command(
            "perf",
            "Sends to a topic of its own and reads it for some seconds, prints rate and latency, and deletes the "
            + "topic. Example: equeue perf --seconds 10 --size 1024 --rate 5000")
        {
            seconds, size, queues, rate,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            if (parsed.GetValue(seconds) is < 1 or > 60)
                throw new UsageException("--seconds must be 1 to 60.");
            if (parsed.GetValue(size) < SelfTest.LeastSize)
                throw new UsageException($"--size must be {SelfTest.LeastSize} or more.");
            if (parsed.GetValue(queues) < 1)
                throw new UsageException("--queues must be 1 or more.");
            if (parsed.GetValue(rate) is < 1)
                throw new UsageException("--rate must be 1 or more.");
            await using EQueueClient client = options.CreateClient(parsed);
            string topic = $"equeue-perf-{Guid.NewGuid():N}"[..24];
            await client.Admin.CreateTopicAsync(
                topic, TopicSettings.None with { QueueCount = parsed.GetValue(queues) }, cancellationToken);
            SelfTestResult result;
            try
            {
                var test = new SelfTest(client, topic, parsed.GetValue(size), parsed.GetValue(rate));
                result = await test.RunAsync(
                    TimeSpan.FromSeconds(parsed.GetValue(seconds)), options.Timeout(parsed), cancellationToken);
            }
            finally
            {
                await DeleteAsync(client.Admin, topic, streams.Error);
            }

            Write(streams.Output, result, parsed.GetValue(size), options.IsJson(parsed));
            if (result is { Missing: 0, Repeated: 0, Received: > 0 })
                return ExitCode.Done;
            throw new InvalidOperationException(
                $"{result.Missing} of {result.Acknowledged} messages did not come back, {result.Repeated} came again.");
        });
        return command;
    }

    private static Option<int> Number(string name, string description, int usual) =>
        new(name) { Description = description, HelpName = "N", DefaultValueFactory = _ => usual };

    /// <summary>Deletes the topic also when the test was given up; why it failed stays the reason.</summary>
    private static async Task DeleteAsync(EQueueAdmin admin, string topic, TextWriter error)
    {
        try
        {
            await admin.DeleteTopicAsync(topic, CancellationToken.None);
        }
        catch (EQueueException exception)
        {
            await error.WriteLineAsync(
                $"topic {topic} is still there ({exception.Message}): equeue topic delete --help tells how it goes");
        }
    }

    private static void Write(Stream output, SelfTestResult result, int size, bool isJson)
    {
        double megabytes = result.PerSecond * size / 1e6;
        if (!isJson)
        {
            output.Write(Encoding.UTF8.GetBytes(string.Create(
                CultureInfo.InvariantCulture,
                $"{result.Received} messages of {size} bytes in {result.Elapsed.TotalSeconds:0.0} s: "
                + $"{result.PerSecond:0} messages/s, {megabytes:0.0} MB/s\n"
                + $"acknowledged after {Text(result.Ack)}\nreceived after {Text(result.EndToEnd)}\n")));
            return;
        }

        JsonLine.Write(output, json =>
        {
            json.WriteNumber("messages", result.Received);
            json.WriteNumber("size", size);
            json.WriteNumber("seconds", Math.Round(result.Elapsed.TotalSeconds, 3));
            json.WriteNumber("messagesPerSecond", Math.Round(result.PerSecond, 1));
            json.WriteNumber("MBps", Math.Round(megabytes, 3));
            WriteFields(json, "ackUs", result.Ack);
            WriteFields(json, "endToEndUs", result.EndToEnd);
            json.WriteNumber("missing", result.Missing);
            json.WriteNumber("repeated", result.Repeated);
        });
    }

    private static string Text(LatencyCounts latency) => string.Create(
        CultureInfo.InvariantCulture,
        $"p50 {latency.Find(0.5)} us, p90 {latency.Find(0.9)} us, p99 {latency.Find(0.99)} us, "
        + $"p99.9 {latency.Find(0.999)} us, max {latency.Max} us");

    private static void WriteFields(Utf8JsonWriter json, string name, LatencyCounts latency)
    {
        json.WriteStartObject(name);
        foreach ((string key, double share) in new[] { ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999) })
        {
            if (latency.Find(share) is { } value)
                json.WriteNumber(key, value);
            else
                json.WriteNull(key);
        }

        json.WriteNumber("max", latency.Max);
        json.WriteEndObject();
    }
}
